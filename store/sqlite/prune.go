package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/store"
)

// Prune implements store.Writer.
func (s *Store) Prune(ctx context.Context, before time.Time, limit int) (int, error) {
	if limit < 1 {
		return 0, fmt.Errorf("%w: limit is %d, want at least 1", store.ErrInvalid, limit)
	}
	pruned := 0
	err := s.write(ctx, flushSize, func(w *writer) ([]store.Hint, error) {
		var old []int64
		err := w.each(context.Background(), func(r row) error {
			old = append(old, r.int(0))
			return nil
		}, `SELECT n FROM runs WHERE finished_at IS NOT NULL AND finished_at < ? ORDER BY finished_at, id LIMIT ? + 0`,
			before.UnixMicro(), int64(limit))
		if err != nil {
			return nil, err
		}
		for _, n := range old {
			if err := w.dropLabels(n); err != nil {
				return nil, err
			}
			if _, err := w.exec(`DELETE FROM log WHERE k BETWEEN ? AND ?`, place(n, 0), place(n, maxSeq)); err != nil {
				return nil, err
			}
			for _, del := range []string{`DELETE FROM settled WHERE run = ?`, `DELETE FROM specs WHERE run = ?`,
				`DELETE FROM runs WHERE n = ?`} {
				if _, err := w.exec(del, n); err != nil {
					return nil, err
				}
			}
		}
		pruned = len(old)
		return nil, nil
	})
	if err != nil {
		return 0, err
	}
	return pruned, nil
}
