# How everything is compiled for the tests, in the array race. test.sh reads it, and .ci/run, whose analyzers use what was compiled for the tests.
race=(-race)
# Conversions of unsafe pointers are checked in our code, not in the standard library's.
race+=("-gcflags=std=-d=checkptr=0")
# What others have written is not watched where that costs most. SQLite is C that was translated to Go, with the C library that it needs: it has
# no races of Go's kind, and its pointers are checked by nobody. What PostgreSQL says on the wire, and a password's hash, concern one goroutine.
for package in modernc.org/sqlite/lib modernc.org/libc/... modernc.org/memory; do race+=("-gcflags=$package=-race=false -d=checkptr=0"); done
for package in github.com/jackc/pgx/v5/pgproto3 github.com/jackc/pgx/v5/pgconn crypto/internal/fips140/...; do race+=("-gcflags=$package=-race=false"); done
