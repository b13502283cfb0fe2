package post

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// tellOrder tells whoever is responsible for the event that tickets were issued: by
// whom, of which category, under which numbers. It names no holder and holds no link
// that claims anything.
func (s *Service) tellOrder(ctx context.Context, a subject) (words, error) {
	rows, err := s.Pool.Query(ctx, `
SELECT t.number, c.name, `+who+`
FROM tickets t JOIN categories c ON c.id = t.category_id
LEFT JOIN audit w ON w.ticket_id = t.id AND w.act = 'ticket.issue'
LEFT JOIN people p ON p.id = w.person_id LEFT JOIN api_tokens k ON k.id = w.token_id
WHERE t.order_id = @order ORDER BY t.number`, pgx.NamedArgs{"order": a.order})
	if err != nil {
		return words{}, wrap("read the order", err)
	}
	var number int
	var numbers []int
	var category, by string
	if _, err := pgx.ForEachRow(rows, []any{&number, &category, &by}, func() error {
		numbers = append(numbers, number)
		return nil
	}); err != nil {
		return words{}, wrap("read the order", err)
	}
	return s.tell(a, by, "mail.told.issue", map[string]any{"tickets": fmt.Sprint(len(numbers)), "numbers": ranges(numbers), "category": category}), nil
}

// tellImport tells whoever is responsible what came of a file.
func (s *Service) tellImport(ctx context.Context, a subject) (words, error) {
	var lines, create, update, skip, left int
	var by string
	err := s.Pool.QueryRow(ctx, `
SELECT (i.counts->>'lines')::integer, (i.counts->>'create')::integer, (i.counts->>'update')::integer, (i.counts->>'skip')::integer,
  (i.counts->>'error')::integer, `+who+`
FROM imports i
LEFT JOIN audit w ON w.at >= i.at AND w.at < i.at + interval '1 minute' AND w.subject_id = i.id AND w.ticket_id IS NULL
LEFT JOIN people p ON p.id = w.person_id LEFT JOIN api_tokens k ON k.id = w.token_id
WHERE i.id = @import`, pgx.NamedArgs{"import": a.imported}).Scan(&lines, &create, &update, &skip, &left, &by)
	if err != nil {
		return words{}, wrap("read the import", err)
	}
	return s.tell(a, by, "mail.told.import", map[string]any{
		"lines": fmt.Sprint(lines), "create": fmt.Sprint(create), "update": fmt.Sprint(update), "skip": fmt.Sprint(skip), "error": fmt.Sprint(left),
	}), nil
}

// who is the name of whoever did what the audit row w holds: a person, a program, or
// nobody who has a name.
const who = `coalesce(p.name, k.name, '')`

func (s *Service) tell(a subject, by, key string, values map[string]any) words {
	parts := []string{s.say(a, key+".text", values)}
	if by != "" {
		parts = append(parts, s.say(a, "mail.told.by", map[string]any{"who": by}))
	}
	parts = append(parts, s.say(a, "mail.told.look", nil)+"\n"+s.PublicURL+"/desk#/event/"+a.event.String(), s.say(a, "mail.told.why", nil))
	return words{subject: s.say(a, key+".subject", values), body: paragraphs(parts...)}
}

// ranges writes ascending numbers as people do: "7–9, 12".
func ranges(numbers []int) string {
	var parts []string
	for i := 0; i < len(numbers); {
		last := i
		for last+1 < len(numbers) && numbers[last+1] == numbers[last]+1 {
			last++
		}
		if last == i {
			parts = append(parts, fmt.Sprint(numbers[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d–%d", numbers[i], numbers[last]))
		}
		i = last + 1
	}
	return strings.Join(parts, ", ")
}
