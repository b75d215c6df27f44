// Package kwok pins the version of KWOK that the test cluster runs, as a tool of this module, and holds its
// configuration: what its nodes and pods do, in config. There is no code of ours here.
package kwok
