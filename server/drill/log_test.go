package drill_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"testing"

	"portillon/server/client"
	"portillon/server/servertest"
	"portillon/server/ticket"
)

// lost reads portillon_attempts_lost_total of both servers.
func (c *crew) lost(t *testing.T) (n int) {
	t.Helper()
	for _, s := range []*servertest.Server{c.Server, c.second} {
		answer := httptest.NewRecorder()
		s.Metrics().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		found := regexp.MustCompile(`(?m)^portillon_attempts_lost_total (\d+)$`).FindStringSubmatch(answer.Body.String())
		if found == nil {
			t.Fatal("the metrics do not count lost attempts")
		}
		one, err := strconv.Atoi(found[1])
		if err != nil {
			t.Fatal(err)
		}
		n += one
	}
	return n
}

func TestWhateverBecomesOfTheLogGuestsGoIn(t *testing.T) {
	const gates = 8
	today := `attempts_' || to_char(portillon_now() AT TIME ZONE 'UTC', 'YYYYMMDD')`
	for _, trouble := range []struct {
		name, begin, end string
		kept             string // where the attempts go all the same; "" when they are lost
	}{
		{"the_day_has_no_partition", `DO $$ BEGIN EXECUTE 'DROP TABLE ` + today + `; END $$`, "", "attempts_default"},
		{
			"a_trigger_raises", `
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'the log is full'; END $$;
CREATE TRIGGER refuse BEFORE INSERT ON attempts FOR EACH ROW EXECUTE FUNCTION refuse()`,
			`DROP TRIGGER refuse ON attempts`, "",
		},
		{"a_check_fails", `ALTER TABLE attempts ADD CONSTRAINT never CHECK (false) NOT VALID`, `ALTER TABLE attempts DROP CONSTRAINT never`, ""},
		{"no_partition_at_all", `DO $$ BEGIN EXECUTE 'DROP TABLE attempts_default, ` + today + `; END $$`, "", ""},
	} {
		for _, form := range forms() {
			t.Run(trouble.name+"/"+form.name, func(t *testing.T) {
				t.Parallel()
				c := newCrew(t, gates, form)
				_, codes := c.issued(t, c.Standard, 3*gates)
				scan := func(round int) {
					together(gates, func(i int) {
						a, err := c.doors[i].Scan(context.Background(), servertest.NewKey(), client.Scan{Gate: c.Gate.Gate, Code: codes[round*gates+i]})
						if err != nil || a.Reason != ticket.Admitted {
							t.Errorf("gate %d: %s %v", i, a.Reason, err)
						}
					})
				}
				do := func(sql string) {
					if _, err := c.DB.Pool.Exec(context.Background(), sql); err != nil {
						t.Fatal(err)
					}
				}
				scan(0)
				if n, logged := c.lost(t), c.Count(t, "attempts"); n != 0 || logged != gates {
					t.Fatalf("before anything went wrong %d are lost, %d logged", n, logged)
				}
				do(trouble.begin)
				scan(1)
				if n := c.Count(t, "admissions"); n != 2*gates {
					t.Errorf("%d admissions of %d", n, 2*gates)
				}
				want := gates
				if trouble.kept != "" {
					want = 0
					if n := c.Count(t, trouble.kept); n != gates {
						t.Errorf("%d attempts are in %s", n, trouble.kept)
					}
				}
				if n := c.lost(t); n != want {
					t.Errorf("the metric counts %d lost attempts of %d", n, want)
				}
				if trouble.end != "" {
					do(trouble.end)
					scan(2)
					if n, logged := c.lost(t), c.Count(t, "attempts"); n != want || logged != 2*gates {
						t.Errorf("afterwards %d are lost and %d logged", n, logged)
					}
				}
			})
		}
	}
}
