package server

import (
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"portillon/server/locale"
	"portillon/web"
)

// mountPages serves the three pages and what they load. A page changes nothing:
// the secrets of its links stand in the fragment, which no browser sends.
func mountPages(e *echo.Echo) {
	for path, name := range map[string]string{"/w": "wallet", "/gate": "gate", "/desk": "desk"} {
		e.GET(path, func(c echo.Context) error { return sendPage(c, name) })
	}
	e.GET("/", func(c echo.Context) error { return c.Redirect(http.StatusFound, "/desk") })
	for _, name := range web.Services() {
		e.GET("/"+name+"-sw.js", func(c echo.Context) error {
			file, ok := web.Service(name)
			if !ok {
				return echo.ErrNotFound
			}
			return sendFile(c, http.StatusOK, file)
		})
	}
	e.GET(web.Prefix+"*", func(c echo.Context) error {
		file, ok := web.Asset(strings.TrimPrefix(c.Request().URL.Path, web.Prefix))
		if !ok {
			return echo.ErrNotFound
		}
		return sendFile(c, http.StatusOK, file)
	})
}

func sendPage(c echo.Context, name string) error {
	file, err := web.Page(name, locale.Match(c.Request().Header.Get("Accept-Language")))
	status := http.StatusOK
	switch {
	case errors.Is(err, web.ErrNotBuilt):
		status = http.StatusServiceUnavailable
	case err != nil:
		return err
	}
	header := c.Response().Header()
	header.Add("Vary", "Accept-Language")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Permissions-Policy", "camera=(self), screen-wake-lock=(self), geolocation=(), microphone=()")
	return sendFile(c, status, file)
}

func sendFile(c echo.Context, status int, file web.File) error {
	header := c.Response().Header()
	body, encoding := file.Encoded(c.Request().Header.Get("Accept-Encoding"))
	tag := file.Tag(encoding)
	header.Add("Vary", "Accept-Encoding")
	header.Set("ETag", tag)
	header.Set("Cache-Control", file.CacheControl)
	header.Set("X-Content-Type-Options", "nosniff")
	if file.Policy != "" {
		header.Set("Content-Security-Policy", file.Policy)
	}
	if status == http.StatusOK && c.Request().Header.Get("If-None-Match") == tag {
		return c.NoContent(http.StatusNotModified)
	}
	if encoding != "" {
		header.Set("Content-Encoding", encoding)
	}
	return c.Blob(status, file.Type, body)
}
