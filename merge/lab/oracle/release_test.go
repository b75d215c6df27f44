package main

import "testing"

func TestProfilesAreThoseOfTheLinkedLibraries(t *testing.T) {
	defer func(linked string) { release = linked }(release)
	for _, c := range []struct {
		linked, profile string
		answers         bool
	}{
		{"1.34.13", "1.34.13", true},
		{"1.34.13", "1.34", true},
		{"1.34.13", "1.35", false},
		{"1.36.2", "1.36.2", true},
		{"1.36.2", "1.36", false},
		{"1.36.3", "1.36", true},
	} {
		release = c.linked
		if answersFor(c.profile) != c.answers {
			t.Errorf("libraries of %s, profile %s: want %v", c.linked, c.profile, c.answers)
		}
	}
}
