package server

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"reflect"
	"strings"
)

// Example is the body's members with their types, for the readable reference.
func example(v any, answer bool) string {
	if v == nil {
		return ""
	}
	if media, ok := v.(mediaType); ok {
		return string(media)
	}
	b := schemas{components: object{}}
	shape := sketch(b, b.schema(reflect.TypeOf(v), answer), 0)
	text, err := json.MarshalIndent(shape, "", "  ")
	if err != nil {
		return ""
	}
	return string(text)
}

// sketch turns a schema into a value that looks like the body.
func sketch(b schemas, schema object, depth int) any {
	if ref, ok := schema["$ref"].(string); ok {
		schema, _ = b.components[strings.TrimPrefix(ref, "#/components/schemas/")].(object)
	}
	if depth > 6 {
		return "…"
	}
	switch schema["type"] {
	case "object":
		members := map[string]any{}
		properties, _ := schema["properties"].(object)
		for name, member := range properties {
			members[name] = sketch(b, member.(object), depth+1)
		}
		return members
	case "array":
		return []any{sketch(b, schema["items"].(object), depth+1)}
	case "string":
		if set, ok := schema["enum"].([]string); ok {
			return strings.Join(set, " | ")
		}
		if format, ok := schema["format"].(string); ok {
			return format
		}
	}
	if kind, ok := schema["type"].(string); ok {
		return kind
	}
	return "any"
}

const docsStyle = `
:root{color-scheme:light dark;--paper:#faf8f4;--ink:#1f1b16;--soft:#5f574c;--line:#d9d3c7;--accent:#8a2b2b}
@media(prefers-color-scheme:dark){:root{--paper:#14120f;--ink:#f1ece3;--soft:#b3a99a;--line:#3b362e;--accent:#e59a8f}}
body{margin:0 auto;padding:2rem 1rem 4rem;max-width:56rem;background:var(--paper);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
h1{font:500 2.2rem/1.15 ui-serif,Georgia,serif}
a{color:var(--accent)}
article{border-top:1px solid var(--line);padding:1rem 0}
h2{margin:0;font:600 1rem/1.4 ui-monospace,Consolas,monospace;overflow-wrap:anywhere}
p{margin:.25rem 0}
.soft{color:var(--soft);font-size:.875rem}
details{margin:.25rem 0}summary{cursor:pointer;min-height:1.75rem}
pre{margin:.25rem 0;overflow-x:auto;font:.8125rem/1.45 ui-monospace,Consolas,monospace}`

var docsStyleHash = func() string {
	sum := sha256.Sum256([]byte(docsStyle))
	return base64.StdEncoding.EncodeToString(sum[:])
}()

var docsPage = template.Must(template.New("docs").Funcs(template.FuncMap{
	"request": func(v any) string { return example(v, false) },
	"answer":  func(v any) string { return example(v, true) },
}).Parse(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Portillon: HTTP reference</title><style>{{.Style}}</style></head>
<body><main>
<h1>Portillon, HTTP version 1</h1>
<p>JSON with <code>lower_snake</code> names; times are RFC 3339 in UTC; errors are problem documents (RFC 9457) with a stable <code>code</code>.
Calls that create take an <code>Idempotency-Key</code> header: sent again with the same key they give the same answer. 503 means that nobody knows yet: repeat with the same key.
The same for machines: <a href="/v1/openapi.yaml">openapi.yaml</a>.</p>
{{range .Routes}}<article>
<h2>{{.Method}} {{.Path}}</h2>
<p>{{.Does}}</p>
<p class="soft">right: {{.Right}} · answers {{.Status}}{{if .Keyed}} · Idempotency-Key{{end}}{{if .Query}} · query: {{range .Query}}{{.}} {{end}}{{end}}</p>
{{with request .In}}<details><summary>request</summary><pre tabindex="0">{{.}}</pre></details>{{end}}
{{with answer .Out}}<details><summary>answer</summary><pre tabindex="0">{{.}}</pre></details>{{end}}
</article>{{end}}
</main></body></html>
`))
