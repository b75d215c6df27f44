package main
import "k8s.io/apimachinery/pkg/util/managedfields"
type converterOnce struct{ c managedfields.TypeConverter }
