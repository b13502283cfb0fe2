package wire

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"portillon/server/exchange"
	"portillon/server/locale"
)

// Table answers with a CSV file that produce writes row by row, in the flavour that
// the query asks for and in the caller's language. Nothing is kept but a few rows:
// what goes wrong before they are full is a problem document as elsewhere, and
// afterwards the connection is broken, so that half a table is never taken for a
// whole one.
func Table(c echo.Context, name string, produce func(ctx context.Context, flavour exchange.Flavour, write func([]string) error) error) error {
	flavour, err := exchange.ParseFlavour(c.QueryParam("flavour"))
	if err != nil {
		return err
	}
	language := c.QueryParam("lang")
	if language == "" {
		language = c.Request().Header.Get("Accept-Language")
	}
	buffer := bufio.NewWriterSize(&lateHeader{c: c, name: name}, 32<<10)
	table, err := exchange.NewWriter(buffer, flavour, locale.Match(language))
	if err != nil {
		return err
	}
	err = produce(c.Request().Context(), flavour, table.Write)
	if err == nil {
		err = table.Flush()
	}
	if err == nil {
		err = buffer.Flush()
	}
	if err != nil && c.Response().Committed {
		// A deadline in the past is how the end of the answer fails to be sent.
		_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Unix(1, 0))
	}
	return err
}

// lateHeader sends the headers with the first bytes.
type lateHeader struct {
	c    echo.Context
	name string
}

func (w *lateHeader) Write(p []byte) (int, error) {
	if !w.c.Response().Committed {
		header := w.c.Response().Header()
		header.Set(echo.HeaderContentType, "text/csv; charset=utf-8; header=present")
		header.Set(echo.HeaderContentDisposition, fmt.Sprintf(`attachment; filename="%s"`, w.name))
		w.c.Response().WriteHeader(http.StatusOK)
	}
	return w.c.Response().Write(p)
}
