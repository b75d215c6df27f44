package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	goruntime "runtime"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The benchmark side of the oracle, "oracle bench". Like the driver protocol it is one JSON object a line in
// each direction, but the requests are others: load the inputs of an object once, check what a row makes of
// them, and run that row for a while and report what it took. Time and allocations are measured here, inside the
// process, so that neither pipes nor JSON count.
//
// What counts and what doesn't:
//   - Types are compiled and field managers made before, as in a running server.
//   - Objects are decoded before. All are unstructured, as custom resources are in a server and everything is
//     in a generic client; no op decodes or encodes an object, but what the field manager does to
//     managedFields.
//   - Nothing is copied that the libraries don't need. Apply leaves live alone, so live is handed over as it
//     is; Update writes managedFields into the new object, so that one's top and metadata are copied, and
//     nothing below.
//   - Times are of the processor, so what else the machine does doesn't count, and garbage collection does.

// benchRequest is one line; exactly one of Load, Check and Run is there.
type benchRequest struct {
	Load  *benchObject `json:"load"`
	Check *benchRow    `json:"check"`
	Run   *benchRow    `json:"run"`
}

// benchObject is what all rows of an object work on.
type benchObject struct {
	Name string `json:"name"`
	// OpenAPI and CRD are paths; one of them is there.
	OpenAPI string                  `json:"openapi"`
	CRD     string                  `json:"crd"`
	GVK     metav1.GroupVersionKind `json:"gvk"`
	// Live is the object with its managedFields.
	Live json.RawMessage `json:"live"`
	// Manager is who applies: Intent is what it holds already, Next is what it wants now.
	Manager string          `json:"manager"`
	Intent  json.RawMessage `json:"intent"`
	Next    json.RawMessage `json:"next"`
	// Updater is who updates, to Updated.
	Updater string          `json:"updater"`
	Updated json.RawMessage `json:"updated"`
}

// benchRow names a row of the table and an object that was loaded.
type benchRow struct {
	Object string `json:"object"`
	Row    string `json:"row"`
	// Millis is how long to run, about.
	Millis int `json:"millis"`
}

// benchSample is what a run took, per op.
type benchSample struct {
	Ops         int     `json:"ops"`
	Nanoseconds float64 `json:"nanoseconds"`
	Allocations float64 `json:"allocations"`
	Bytes       float64 `json:"bytes"`
}

// bench responds to the requests on in until it ends. The first that fails ends it: a benchmark without one of its
// figures is none.
func bench(in io.Reader, out io.Writer) error {
	reader := bufio.NewReaderSize(in, 1<<16)
	objects := map[string]*benchInputs{}
	oracle := newOracle()
	for {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		answer, err := benchAnswer(oracle, objects, line)
		if err != nil {
			return fmt.Errorf("%w, asked %.200s", err, line)
		}
		buf := &bytes.Buffer{}
		if err := encodeValue(buf, answer); err != nil {
			return err
		}
		buf.WriteByte('\n')
		if _, err := out.Write(buf.Bytes()); err != nil {
			return err
		}
	}
}

func benchAnswer(o *oracle, objects map[string]*benchInputs, line []byte) (answer, error) {
	var request benchRequest
	if err := json.Unmarshal(line, &request); err != nil {
		return nil, err
	}
	row := request.Run
	switch {
	case request.Load != nil:
		inputs, err := o.benchInputs(request.Load)
		if err != nil {
			return nil, err
		}
		objects[request.Load.Name] = inputs
		return answer{"loaded": request.Load.Name}, nil
	case request.Check != nil:
		row = request.Check
	case row == nil:
		return nil, errors.New("nothing to do")
	}
	inputs, ok := objects[row.Object]
	if !ok {
		return nil, fmt.Errorf("object: %q isn't loaded", row.Object)
	}
	op, err := inputs.row(row.Row)
	if err != nil {
		return nil, err
	}
	if request.Check != nil {
		return inputs.check(op)
	}
	sample, err := benchRun(op, time.Duration(row.Millis)*time.Millisecond)
	if err != nil {
		return nil, err
	}
	return answer{
		"ops": sample.Ops, "nanoseconds": sample.Nanoseconds,
		"allocations": sample.Allocations, "bytes": sample.Bytes,
	}, nil
}

// benchBatch is how long a batch is to take between two looks at the clock: long against the look, short
// against a run.
const benchBatch = time.Millisecond

// benchRun repeats an op for about so long.
func benchRun(op benchOp, duration time.Duration) (*benchSample, error) {
	batch, err := benchCalibrate(op)
	if err != nil {
		return nil, err
	}
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	ops, start := 0, processorTime()
	var elapsed time.Duration
	for elapsed < duration {
		for range batch {
			if err := op.run(); err != nil {
				return nil, err
			}
		}
		ops += batch
		elapsed = processorTime() - start
	}
	goruntime.ReadMemStats(&after)
	return &benchSample{
		Ops:         ops,
		Nanoseconds: float64(elapsed.Nanoseconds()) / float64(ops),
		Allocations: float64(after.Mallocs-before.Mallocs) / float64(ops),
		Bytes:       float64(after.TotalAlloc-before.TotalAlloc) / float64(ops),
	}, nil
}

// benchCalibrate finds out how many ops make a batch, and warms up meanwhile.
func benchCalibrate(op benchOp) (int, error) {
	for batch := 1; ; batch *= 2 {
		start := processorTime()
		for range batch {
			if err := op.run(); err != nil {
				return 0, err
			}
		}
		if processorTime()-start >= benchBatch/2 {
			return batch, nil
		}
	}
}

// processorTime is how long all threads of this process have been on a processor.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// benchInputs is an object made ready.
func (o *oracle) benchInputs(object *benchObject) (*benchInputs, error) {
	r := request{}
	for member, path := range map[string]string{"openapi": object.OpenAPI, "crd": object.CRD} {
		if path != "" {
			raw, err := json.Marshal(map[string]string{"file": path})
			if err != nil {
				return nil, err
			}
			r[member] = raw
		}
	}
	res, err := o.resource(r, schema.GroupVersionKind(object.GVK))
	if err != nil {
		return nil, err
	}
	return newBenchInputs(res, object)
}
