package main

import (
	"bytes"
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	serializerjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// message is an object as JSON and as protobuf.
type message struct {
	Object   json.RawMessage `json:"object"`
	Protobuf []byte          `json:"protobuf"`
}

// messages writes the objects as protobuf, and what is read from that as JSON.
func messages(input []byte) ([]byte, error) {
	var all []message
	if err := json.Unmarshal(input, &all); err != nil {
		return nil, err
	}
	types := runtime.NewScheme()
	if err := scheme.AddToScheme(types); err != nil {
		return nil, err
	}
	if err := apiextensionsv1.AddToScheme(types); err != nil {
		return nil, err
	}
	asJSON := serializerjson.NewSerializerWithOptions(serializerjson.DefaultMetaFactory, types, types, serializerjson.SerializerOptions{Strict: true})
	asProtobuf := protobuf.NewSerializer(types, types)
	for i := range all {
		object, _, err := asJSON.Decode(all[i].Object, nil, nil)
		if err != nil {
			return nil, err
		}
		var written bytes.Buffer
		if err := asProtobuf.Encode(object, &written); err != nil {
			return nil, err
		}
		read, _, err := asProtobuf.Decode(written.Bytes(), nil, nil)
		if err != nil {
			return nil, err
		}
		all[i] = message{encode(read, ""), written.Bytes()}
	}
	return []byte("[\n" + lines(all, " ") + "\n]\n"), nil
}
