module github.com/interlude-go/interlude

go 1.25.0

require (
	github.com/qmuntal/stateless v1.7.2
	github.com/santhosh-tekuri/jsonschema/v5 v5.3.1
	github.com/stretchr/testify v1.12.1
	go.yaml.in/yaml/v3 v3.0.6
	golang.org/x/sync v0.22.0
	golang.org/x/text v0.41.0
	pgregory.net/rapid v1.3.0
)
