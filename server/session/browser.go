package session

import "strings"

// browser names the browser and system of a User-Agent header in a few words, for
// a person who has to say whether this is the device in front of him. "" when
// there is no header.
func browser(userAgent string) string {
	if userAgent == "" {
		return ""
	}
	name := firstOf(userAgent, "a browser", [][2]string{
		{"Edg", "Edge"}, {"OPR/", "Opera"}, {"SamsungBrowser/", "Samsung Internet"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"},
		{"CriOS/", "Chrome"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}, {"curl/", "curl"},
	})
	system := firstOf(userAgent, "", [][2]string{
		{"Android", "Android"}, {"iPhone", "iPhone"}, {"iPad", "iPad"}, {"CrOS", "ChromeOS"},
		{"Windows", "Windows"}, {"Mac OS X", "Mac"}, {"Linux", "Linux"},
	})
	if system == "" {
		return name
	}
	return name + " on " + system
}

// firstOf: browsers name each other in their headers, so the order decides.
func firstOf(text, none string, table [][2]string) string {
	for _, row := range table {
		if strings.Contains(text, row[0]) {
			return row[1]
		}
	}
	return none
}
