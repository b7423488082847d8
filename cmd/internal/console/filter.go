package console

import (
	"errors"
	"flag"
	"strconv"
	"strings"
)

func limitFlag(f *flag.FlagSet) *int {
	limit := 100
	f.Func("limit", "the maximum `number` of entries; default: 100", func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return errors.New("want a number from 1")
		}
		limit = n
		return nil
	})
	return &limit
}

func labelFlag(f *flag.FlagSet) *map[string]string {
	labels := make(map[string]string)
	f.Func("label", "only runs with this label, as `name=value` (repeatable)", func(text string) error {
		name, value, ok := strings.Cut(text, "=")
		if _, twice := labels[name]; !ok || twice {
			return errors.New("want name=value, each name once")
		}
		labels[name] = value
		return nil
	})
	return &labels
}
