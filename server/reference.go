package server

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
	"gopkg.in/yaml.v3"

	"portillon/server/exchange"
	"portillon/server/issue"
	"portillon/server/problem"
	"portillon/server/rights"
	"portillon/server/ticket"
)

// apiYAML is what reference makes of the table of routes; a test holds the two
// equal, so that the file can be read in the repository.
//
//go:embed api.yaml
var apiYAML []byte

// words are the closed sets of words that some types are.
var words = map[reflect.Type][]string{
	reflect.TypeFor[ticket.Verdict]():     {"admit", "refuse", "retry"},
	reflect.TypeFor[ticket.Class]():       {"admit", "ask", "refuse", "again"},
	reflect.TypeFor[ticket.Status]():      {"active", "used", "held", "revoked"},
	reflect.TypeFor[ticket.Direction]():   {"in", "out"},
	reflect.TypeFor[ticket.Kind]():        {"pushed", "shown", "short", "timed", "totp", "paper", "none"},
	reflect.TypeFor[ticket.Freshness]():   {"live", "assisted", "open"},
	reflect.TypeFor[ticket.Rescan]():      {"strict", "show_time", "recover"},
	reflect.TypeFor[ticket.Reason]():      reasonWords(),
	reflect.TypeFor[exchange.Encoding]():  namesOf(exchange.Encodings),
	reflect.TypeFor[exchange.Separator](): namesOf(exchange.Separators),
	reflect.TypeFor[issue.Doing]():        {"create", "update", "skip", "error"},
	reflect.TypeFor[issue.MappingFrom]():  {"given", "remembered", "guessed"},
	reflect.TypeFor[rights.Role]():        {"controller", "supervisor", "admin"},
	reflect.TypeFor[rights.Scope]():       {"scan", "read", "issue", "admin"},
}

func reasonWords() []string {
	list := make([]string, 0, len(ticket.Rules))
	for _, rule := range ticket.Rules {
		list = append(list, string(rule.Reason))
	}
	return list
}

func namesOf[T ~string](values []T) []string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = string(v)
	}
	return names
}

type object = map[string]any

// reference is the OpenAPI 3.1 document of the routes. Bodies are read off the
// Go types that are decoded and encoded, so that it cannot say anything else.
func reference(routes []Route) object {
	b := schemas{components: object{}}
	paths := object{}
	for _, r := range routes {
		path := parameter.ReplaceAllString(r.Path, "{$1}")
		item, _ := paths[path].(object)
		if item == nil {
			item = object{}
			paths[path] = item
		}
		item[strings.ToLower(r.Method)] = b.operation(r)
	}
	b.components["problem"] = b.fields(reflect.TypeFor[problem.Document](), true)
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Portillon", "version": "1",
			"description": "One ticket, one entry. Times are RFC 3339 in UTC, identifiers are UUIDs, errors are problem documents (RFC 9457) with a stable code. " +
				"Creating calls take an Idempotency-Key header and may be sent again with it. x-right is the right that a caller must have.",
		},
		"paths":      paths,
		"components": object{"schemas": b.components, "securitySchemes": securitySchemes},
	}
}

var securitySchemes = object{
	"bearer": object{"type": "http", "scheme": "bearer", "description": "An API token (pta_…) or the credential of a paired device (ptd_…)."},
	"cookie": object{"type": "apiKey", "in": "cookie", "name": "portillon", "description": "The desk's session; __Host-portillon with TLS."},
	"wallet": object{"type": "apiKey", "in": "cookie", "name": "portillon-wallet", "description": "A wallet session; __Host-portillon-wallet with TLS."},
}

var parameter = regexp.MustCompile(`:(\w+)`)

type schemas struct{ components object }

func (b schemas) operation(r Route) object {
	op := object{"summary": r.Does, "x-right": string(r.Right), "responses": object{
		strconv.Itoa(r.Status): b.response(r),
		"default": object{"description": "A problem document.", "content": object{
			problem.ContentType: object{"schema": object{"$ref": "#/components/schemas/problem"}},
		}},
	}}
	switch r.Right {
	case rights.Public:
	case rights.Wallet:
		op["security"] = []object{{"wallet": []string{}}}
	case rights.Device, rights.Scan:
		op["security"] = []object{{"bearer": []string{}}}
	default:
		op["security"] = []object{{"cookie": []string{}}, {"bearer": []string{}}}
	}
	var parameters []object
	for _, name := range parameter.FindAllStringSubmatch(r.Path, -1) {
		schema := object{"type": "string", "format": "uuid"}
		if name[1] == "lease" {
			schema = object{"type": "string"}
		}
		parameters = append(parameters, object{"name": name[1], "in": "path", "required": true, "schema": schema})
	}
	for _, name := range r.Query {
		parameters = append(parameters, object{"name": name, "in": "query", "schema": object{"type": "string"}})
	}
	if r.Keyed {
		parameters = append(parameters, object{"name": "Idempotency-Key", "in": "header", "schema": object{"type": "string", "format": "uuid"}})
	}
	if len(parameters) > 0 {
		op["parameters"] = parameters
	}
	switch in := r.In.(type) {
	case nil:
	case mediaType:
		op["requestBody"] = object{"required": true, "content": object{string(in): object{}}}
	default:
		op["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": b.schema(reflect.TypeOf(in), false)}}}
	}
	return op
}

func (b schemas) response(r Route) object {
	answer := object{"description": http.StatusText(r.Status)}
	switch out := r.Out.(type) {
	case nil:
	case mediaType:
		answer["content"] = object{string(out): object{}}
	default:
		answer["content"] = object{"application/json": object{"schema": b.schema(reflect.TypeOf(out), true)}}
	}
	return answer
}

// mediaType is the In or the Out of a call that does not take or answer JSON.
type mediaType string

// schema describes a type; structs with a name become components.
func (b schemas) schema(t reflect.Type, answer bool) object {
	switch {
	case t.Kind() == reflect.Pointer:
		return b.schema(t.Elem(), answer)
	case words[t] != nil:
		return object{"type": "string", "enum": words[t]}
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[json.RawMessage]():
		return object{"type": "object"}
	case t == reflect.TypeFor[uuid.UUID](), t.Kind() == reflect.Array && t.Len() == 16 && t.Elem().Kind() == reflect.Uint8:
		return object{"type": "string", "format": "uuid"}
	}
	switch t.Kind() {
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint32:
		return object{"type": "integer"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Slice:
		return object{"type": "array", "items": b.schema(t.Elem(), answer)}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": b.schema(t.Elem(), answer)}
	case reflect.Struct:
		return b.component(t, answer)
	}
	return object{} // an interface: anything
}

func (b schemas) component(t reflect.Type, answer bool) object {
	name := componentName(t, answer)
	if name == "" {
		return b.fields(t, answer)
	}
	if _, known := b.components[name]; !known {
		b.components[name] = nil // a type that holds itself ends here
		b.components[name] = b.fields(t, answer)
	}
	return object{"$ref": "#/components/schemas/" + name}
}

var generic = regexp.MustCompile(`^(\w+)\[.*?([\w]+)\]$`)

func componentName(t reflect.Type, answer bool) string {
	name := generic.ReplaceAllString(t.Name(), "$1-$2")
	if name == "" {
		return ""
	}
	pkg := t.PkgPath()[strings.LastIndex(t.PkgPath(), "/")+1:]
	if !answer {
		return "request-" + pkg + "-" + name
	}
	return pkg + "-" + name
}

func (b schemas) fields(t reflect.Type, answer bool) object {
	properties, required := object{}, []string{}
	for _, f := range reflect.VisibleFields(t) {
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" || name == "" {
			continue
		}
		properties[name] = b.schema(f.Type, answer)
		if answer && !strings.Contains(rest, "omit") {
			required = append(required, name)
		}
	}
	schema := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		slices.Sort(required)
		schema["required"] = required
	}
	return schema
}

// referenceYAML writes the document with sorted members: equal tables give equal
// bytes.
func referenceYAML(routes []Route) ([]byte, error) {
	var out strings.Builder
	out.WriteString("# Made from server/routes.go: go test ./server -run Reference -update\n")
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(reference(routes)); err != nil {
		return nil, fmt.Errorf("write the reference: %w", err)
	}
	return []byte(out.String()), nil
}

// mountReference serves the document and its readable form.
func mountReference(e *echo.Echo, routes []Route) {
	e.GET("/v1/openapi.yaml", func(c echo.Context) error {
		return c.Blob(http.StatusOK, "application/yaml", apiYAML)
	})
	e.GET("/v1/docs", func(c echo.Context) error {
		header := c.Response().Header()
		header.Set("Content-Security-Policy", "default-src 'none'; style-src 'sha256-"+docsStyleHash+"'; base-uri 'none'; frame-ancestors 'none'")
		header.Set(echo.HeaderContentType, echo.MIMETextHTMLCharsetUTF8)
		return docsPage.Execute(c.Response(), docsView{Style: template.CSS(docsStyle), Routes: routes}) //nolint:gosec // our own constant
	})
}

type docsView struct {
	Style  template.CSS
	Routes []Route
}
