package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/store"
)

var (
	// surveyText counts each figure in an index that holds only the counted rows.
	surveyText = sql(`SELECT p.name, p.capacity, p.key_capacity, coalesce(h.held, 0), coalesce(r.ready, 0), r.oldest,
			t.running, t.queued + b.queued + c.queued, w.waiting, w.oldest, d.due, l.delayed, n.nodes,
			u.input, u.output, u.cost, u.worked,
			e.engines, e.queued, e.oldest, e.nodes, b.held, b.oldest
		FROM (SELECT count(*) AS nodes FROM interlude.nodes) n
		CROSS JOIN (SELECT count(*) FILTER (WHERE state = 'running') AS running,
			count(*) FILTER (WHERE state = 'queued') AS queued
			FROM interlude.states WHERE slot) t
		CROSS JOIN (SELECT count(*) AS waiting, min(` + askedSince("asked_at") + `) AS oldest
			FROM interlude.states WHERE asked_at IS NOT NULL) w
		CROSS JOIN (SELECT count(*) AS due FROM interlude.states WHERE deadline IS NOT NULL
			AND deadline <= $1::bigint) d
		CROSS JOIN (SELECT count(*) AS delayed FROM interlude.states WHERE delayed_until IS NOT NULL
			AND delayed_until > $1::bigint AND delayed_until < ` + heldRange + `) l
		CROSS JOIN (SELECT count(*) AS held, count(*) FILTER (WHERE asked_at IS NULL) AS queued,
				min(CASE WHEN asked_at IS NULL THEN queued_at ELSE delayed_until - ` + heldWaiting + ` END) AS oldest
			FROM interlude.states WHERE delayed_until IS NOT NULL AND delayed_until > ` + heldRange + `) b
		CROSS JOIN (SELECT count(*) AS queued FROM interlude.states WHERE delayed_until = ` + awaiting + `) c
		CROSS JOIN (SELECT coalesce(sum(t.input), 0)::bigint AS input, coalesce(sum(t.output), 0)::bigint AS output,
				coalesce(sum(t.cost), 0)::bigint AS cost, coalesce(sum(t.worked), 0)::bigint AS worked
			FROM (
				SELECT n FROM interlude.states WHERE asked_at IS NOT NULL
				UNION ALL
				SELECT n FROM interlude.states WHERE slot AND asked_at IS NULL
				UNION ALL
				SELECT n FROM interlude.states WHERE ready
				UNION ALL
				SELECT n FROM interlude.states WHERE delayed_until IS NOT NULL AND asked_at IS NULL
			) AS o
			CROSS JOIN LATERAL (SELECT sum(input) AS input, sum(output) AS output, sum(cost) AS cost,
				sum(worked) AS worked FROM interlude.usage WHERE usage.run = o.n) AS t
			WHERE EXISTS (SELECT FROM interlude.usage)) u
		CROSS JOIN (SELECT array_agg(q.engine ORDER BY q.engine) AS engines, array_agg(q.queued
			ORDER BY q.engine) AS queued,
				array_agg(q.oldest ORDER BY q.engine) AS oldest, array_agg((
					SELECT count(*) FROM interlude.nodes WHERE nodes.engines IS NULL OR q.engine = ANY (nodes.engines))
						ORDER BY q.engine) AS nodes
			FROM (SELECT btrim(engine, '!'::bytea) AS engine, count(*) AS queued, min(since) AS oldest FROM (
				SELECT engine, queued_at AS since FROM interlude.states WHERE ready
				UNION ALL
				SELECT engine, CASE WHEN delayed_until <= $1::bigint THEN queued_at END FROM interlude.states
					WHERE delayed_until IS NOT NULL AND delayed_until < ` + heldRange + `
			) AS parts GROUP BY 1) q) e
		LEFT JOIN interlude.pools p ON true
		LEFT JOIN (SELECT pool, count(*) AS held FROM interlude.states WHERE slot GROUP BY pool) h ON h.pool = p.name
		LEFT JOIN (SELECT pool, sum(ready) AS ready, min(oldest) AS oldest FROM (
				SELECT pool, count(*) AS ready, min(queued_at) AS oldest FROM interlude.states WHERE ready GROUP BY pool
				UNION ALL
				SELECT pool, count(*), min(queued_at) FROM interlude.states WHERE delayed_until IS NOT NULL
					AND delayed_until <= $1::bigint GROUP BY pool
			) AS parts GROUP BY pool) r ON r.pool = p.name
		ORDER BY p.name`)
)

func (r *reader) Survey(ctx context.Context, now time.Time) (survey store.Survey, _ error) {
	_, err := readRows(ctx, r, r.texts[surveyText], func(row pgx.CollectableRow) (none struct{}, _ error) {
		var name *string
		var capacity, keyCapacity *int
		var p store.PoolSurvey
		var oldestReady, oldestWaiting, oldestHeld *int64
		var engines [][]byte
		var queued, nodes []int
		var oldest []*int64
		var input, output, cost, worked int64
		err := row.Scan(&name, &capacity, &keyCapacity, &p.Held, &p.Ready, &oldestReady,
			&survey.Running, &survey.Queued, &survey.Waiting, &oldestWaiting, &survey.Due, &survey.Delayed,
			&survey.Nodes, &input, &output, &cost, &worked,
			&engines, &queued, &oldest, &nodes, &survey.Held, &oldestHeld)
		if err != nil {
			return none, err
		}
		survey.OldestWaiting, survey.OldestHeld = timeOrZero(oldestWaiting), timeOrZero(oldestHeld)
		survey.Usage = usageFrom(input, output, cost, worked)
		survey.Engines = nil // the same in each row
		for i, e := range engines {
			survey.Engines = append(survey.Engines, store.EngineSurvey{Engine: string(e), Queued: queued[i],
				OldestReady: timeOrZero(oldest[i]), Nodes: nodes[i]})
		}
		if name != nil {
			p.Name, p.Capacity, p.KeyCapacity, p.OldestReady = *name, *capacity, *keyCapacity, timeOrZero(oldestReady)
			survey.Add(p)
		}
		return none, nil
	}, now.UnixMicro())
	if err != nil {
		return store.Survey{}, err
	}
	survey.Queued += survey.Ready + survey.Delayed
	return survey, nil
}

func timeOrZero(micros *int64) time.Time {
	if micros == nil {
		return time.Time{}
	}
	return timeOf(*micros)
}
