package store_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// A record's clone is equal and shares nothing that can be written, whatever fields a record will
// have.
func TestCloneSharesNothing(t *testing.T) {
	r := parked()
	require.Equal(t, r, r.Clone())
	requireApart(t, "Run", reflect.ValueOf(r), reflect.ValueOf(r.Clone()))

	record := interaction.Settle(r.Open[0], r.Answers[0], "k", "d")
	require.Equal(t, record, store.CloneRecord(record))
	requireApart(t, "Record", reflect.ValueOf(record), reflect.ValueOf(store.CloneRecord(record)))

	require.Equal(t, store.Run{}, store.Run{}.Clone(), "what is nil stays nil")
	require.Equal(t, interaction.Record{}, store.CloneRecord(interaction.Record{}))
}

// requireApart follows everything that two values refer to.
func requireApart(t *testing.T, path string, a, b reflect.Value) {
	t.Helper()
	switch a.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if a.IsNil() || a.Type().String() == "*time.Location" {
			return
		}
		require.NotEqual(t, a.UnsafePointer(), b.UnsafePointer(), "%s is shared", path)
	default:
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !a.IsNil() {
			requireApart(t, path, a.Elem(), b.Elem())
		}
	case reflect.Struct:
		for i := range a.NumField() {
			requireApart(t, path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))
		}
	case reflect.Slice:
		for i := range a.Len() {
			requireApart(t, path+"[]", a.Index(i), b.Index(i))
		}
	case reflect.Map:
		for _, k := range a.MapKeys() {
			requireApart(t, path+"["+k.String()+"]", a.MapIndex(k), b.MapIndex(k))
		}
	default:
	}
}
