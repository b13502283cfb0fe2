package server

import (
	"bytes"
	"flag"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi"

	"portillon/server/admit"
	"portillon/server/locale"
)

var update = flag.Bool("update", false, "rewrite api.yaml")

// table is the routes of a server without a database: only to be read.
func table(t *testing.T) []Route {
	t.Helper()
	text, err := locale.Load()
	if err != nil {
		t.Fatal(err)
	}
	return (&Server{text: text, Door: &admit.Service{}}).Routes()
}

func TestTheReferenceIsWhatTheTableOfRoutesAndTheTypesSay(t *testing.T) {
	want, err := referenceYAML(table(t))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("api.yaml", want, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(apiYAML, want) {
		t.Error("api.yaml is not what the routes say: go test ./server -run Reference -update")
	}
}

func TestTheReferenceIsAnOpenAPIDocumentWithEveryRoute(t *testing.T) {
	document, err := libopenapi.NewDocument(apiYAML)
	if err != nil {
		t.Fatal(err)
	}
	model, err := document.BuildV3Model()
	if err != nil {
		t.Fatal(err)
	}
	operations := 0
	for _, item := range model.Model.Paths.PathItems.FromOldest() {
		operations += item.GetOperations().Len()
	}
	if routes := table(t); operations != len(routes) {
		t.Errorf("%d operations, %d routes", operations, len(routes))
	}
}

func TestEveryRouteSaysWhatItTakesAndGives(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range table(t) {
		name := r.Method + " " + r.Path
		if seen[name] {
			t.Errorf("%s is there twice", name)
		}
		seen[name] = true
		if r.handler == nil || r.Does == "" || r.Right == "" || r.Status == 0 {
			t.Errorf("%s lacks something", name)
		}
		if (r.Status == http.StatusNoContent) != (r.Out == nil) {
			t.Errorf("%s answers %d with %T", name, r.Status, r.Out)
		}
		if r.Method == http.MethodGet && (r.In != nil || r.Keyed) {
			t.Errorf("%s: a GET changes nothing", name)
		}
		for _, body := range []any{r.In, r.Out} {
			if body == nil || body == struct{}{} {
				continue
			}
			if _, media := body.(mediaType); !media && reflect.TypeOf(body).Name() == "" {
				t.Errorf("%s has a body without a name: %T", name, body)
			}
		}
		if !strings.HasPrefix(r.Path, "/v1/") {
			t.Errorf("%s is not in version 1", name)
		}
	}
}
