package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store/internal/refuse"
)

// journalColumns are updateTexts' arguments for journals, one row per entry.
type journalColumns struct {
	run, number      []int64
	path, name, kind []string
	body             [][]byte
}

func (j *journalColumns) add(p *pendingCommit) {
	for i := range p.Journal {
		e := &p.Journal[i]
		j.run, j.number = append(j.run, p.row), append(j.number, int64(p.FirstOfJournal()+i))
		j.path, j.name, j.kind = append(j.path, e.Path), append(j.name, e.Name), append(j.kind, e.Type)
		j.body = append(j.body, e.Body)
	}
}

// journalText is the part of a statement that writes the stored commits' entries. first is the
// number of its first of six arguments.
func journalText(first int) string {
	return fmt.Sprintf(`, journal AS (
			INSERT INTO interlude.journal (run, entry, path, name, type, body)
				SELECT j.run, j.entry, j.path, j.name, j.type, j.body
				FROM unnest($%d::bigint[], $%d::bigint[], $%d::text[], $%d::text[], $%d::text[], $%d::bytea[])
					AS j (run, entry, path, name, type, body) JOIN state ON state.n = j.run
		)`, first, first+1, first+2, first+3, first+4, first+5)
}

var journalReadText = sql(`SELECT j.path, j.name, j.type, j.body FROM interlude.runs r
	LEFT JOIN interlude.journal j ON j.run = r.n WHERE r.id = $1::text ORDER BY j.entry`)

func (r *reader) Journal(ctx context.Context, id string) (entries []interaction.JournalEntry, _ error) {
	if !storable(id) {
		return nil, refuse.NotFound(id)
	}
	known := false
	found, err := readRows(ctx, r, r.texts[journalReadText], func(row pgx.CollectableRow) (
		e interaction.JournalEntry, _ error) {
		known = true
		var path, name, kind *string // NULL for a run without a journal
		err := row.Scan(&path, &name, &kind, &e.Body)
		if err == nil && path != nil {
			e.Path, e.Name, e.Type = *path, *name, *kind
		}
		return e, err
	}, id)
	switch {
	case err != nil:
		return nil, err
	case !known:
		return nil, refuse.NotFound(id)
	case found[0].Path == "":
		return nil, nil
	}
	return found, nil
}
