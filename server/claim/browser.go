package claim

import "strings"

// browserOf tells a browser and its device in two words from a User-Agent header
// (RFC 9110, section 10.1.5), for instance "Safari, iPhone": enough for somebody
// to recognise their own phone, and too little to recognise anybody by. What it
// does not know it leaves out.
func browserOf(userAgent string) string {
	browser, device := first(userAgent, browsers), first(userAgent, devices)
	switch {
	case browser == "":
		return device
	case device == "":
		return browser
	}
	return browser + ", " + device
}

// The first mark that occurs decides: nearly every browser claims to be Safari
// too, nearly every other one to be Chrome.
var browsers = [][2]string{
	{"EdgA/", "Edge"}, {"EdgiOS/", "Edge"}, {"Edg/", "Edge"},
	{"SamsungBrowser/", "Samsung Internet"}, {"OPR/", "Opera"},
	{"FxiOS/", "Firefox"}, {"Firefox/", "Firefox"},
	{"CriOS/", "Chrome"}, {"HeadlessChrome/", "Chrome"}, {"Chrome/", "Chrome"},
	{"Safari/", "Safari"}, {"portillon", "Portillon"},
}

var devices = [][2]string{
	{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"CrOS", "ChromeOS"},
	{"Windows", "Windows"}, {"Macintosh", "Mac"}, {"Linux", "Linux"},
}

func first(text string, marks [][2]string) string {
	for _, m := range marks {
		if strings.Contains(text, m[0]) {
			return m[1]
		}
	}
	return ""
}
