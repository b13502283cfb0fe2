// Package useragent tells a browser and its device in two words, "Safari,
// iPhone": enough for somebody to recognise his own phone or the one in front of
// him, and too little to recognise anybody by. The words are names, which are the
// same in every language. It promises that what it does not know it leaves out.
// It does not know who asks, nor what for.
package useragent

import "strings"

// Name reads a User-Agent header (RFC 9110, section 10.1.5); "" when it says
// nothing that is known.
func Name(header string) string {
	browser, device := first(header, browsers), first(header, devices)
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
	{"Safari/", "Safari"}, {"portillon", "Portillon"}, {"curl/", "curl"},
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
