module github.com/interlude-go/interlude/host/slack

go 1.25.0

require (
	github.com/gorilla/websocket v1.5.3
	github.com/interlude-go/interlude v0.1.0
	github.com/interlude-go/interlude/host/front v0.1.0
	github.com/interlude-go/interlude/host/notify v0.1.0
	github.com/interlude-go/interlude/store/sqlite v0.1.0
	github.com/slack-go/slack v0.29.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/dustin/go-humanize v1.0.1 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/mattn/go-isatty v0.0.20 // indirect
	github.com/ncruces/go-strftime v1.0.0 // indirect
	github.com/qmuntal/stateless v1.7.2 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	github.com/santhosh-tekuri/jsonschema/v5 v5.3.1 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/text v0.41.0 // indirect
	modernc.org/libc v1.72.0 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.11.0 // indirect
	modernc.org/sqlite v1.50.0 // indirect
)

replace (
	github.com/interlude-go/interlude => ../..
	github.com/interlude-go/interlude/host/front => ../front
	github.com/interlude-go/interlude/host/notify => ../notify
	github.com/interlude-go/interlude/store/sqlite => ../../store/sqlite
)
