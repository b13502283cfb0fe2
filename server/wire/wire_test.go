package wire

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"portillon/server/fault"
)

type thing struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

func request(contentType, body string) echo.Context {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	return echo.New().NewContext(r, httptest.NewRecorder())
}

func TestABodyThatDoesNotFitIsRefusedAsAWholeWithAStableCode(t *testing.T) {
	for body, want := range map[string]string{
		`{"name":"a","count":1}`:             "",
		`{"name":"a","count":1,"more":true}`: "request.body",
		`{"name":"a"}{"name":"b"}`:           "request.body",
		`{"name":"a"} x`:                     "request.body",
		`{"count":"one"}`:                    "request.body",
		`{"count":99999999999999999999}`:     "request.body",
		`[]`:                                 "request.body",
		``:                                   "request.body",
		"{\"name\":\"\xff\"}":                "request.body",
		`{"name":"` + strings.Repeat("a", 5000) + `"}`: "request.too_large",
	} {
		_, _, err := Body[thing](request("application/json; charset=utf-8", body), SmallBody)
		if (want == "") != (err == nil) || want != "" && !fault.Is(err, want) {
			t.Errorf("%.40s: %v, want %s", body, err, want)
		}
	}
	if _, _, err := Body[thing](request("text/plain", `{}`), SmallBody); !fault.Is(err, "request.media_type") {
		t.Errorf("another media type: %v", err)
	}
}

func TestAnIdempotencyKeyIsAUUIDOrNothing(t *testing.T) {
	for text, ok := range map[string]bool{
		"": true, "0b8e0f7e-5b0a-4a53-9a57-0f0c5d6f3a11": true, "0B8E0F7E-5B0A-4A53-9A57-0F0C5D6F3A11": true,
		"00000000-0000-0000-0000-000000000000": false, "{0b8e0f7e-5b0a-4a53-9a57-0f0c5d6f3a11}": false, "1": false,
	} {
		c := request("application/json", "")
		c.Request().Header.Set("Idempotency-Key", text)
		if _, err := Key(c); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}
