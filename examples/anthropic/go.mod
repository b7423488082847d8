module github.com/interlude-go/interlude/examples/anthropic

go 1.25.0

require (
	github.com/anthropics/anthropic-sdk-go v1.27.1
	github.com/interlude-go/interlude v0.1.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/qmuntal/stateless v1.7.2 // indirect
	github.com/santhosh-tekuri/jsonschema/v5 v5.3.1 // indirect
	github.com/tidwall/gjson v1.18.0 // indirect
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.2.1 // indirect
	github.com/tidwall/sjson v1.2.5 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/text v0.41.0 // indirect
)

replace github.com/interlude-go/interlude => ../..
