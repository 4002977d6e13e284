package sim

import (
	"fmt"
	"math/bits"
	"reflect"
)

// mixer is 2^64 divided by the golden ratio, made odd.
const mixer = 0x9E3779B97F4A7C15

// mix folds x into the rolling hash h.
func mix(h, x uint64) uint64 {
	h = (h ^ x) * mixer
	return h ^ h>>32
}

// mixString folds s into h, eight bytes at a time; its length is part of it.
func mixString(h uint64, s string) uint64 {
	h = mix(h, uint64(len(s)))
	for len(s) >= 8 {
		h = mix(h, uint64(s[0])|uint64(s[1])<<8|uint64(s[2])<<16|uint64(s[3])<<24|
			uint64(s[4])<<32|uint64(s[5])<<40|uint64(s[6])<<48|uint64(s[7])<<56)
		s = s[8:]
	}
	return mix(h, tail(s))
}

// tail packs up to seven bytes into a word, the first lowest.
func tail(s string) uint64 {
	n := uint(len(s))
	switch {
	case n == 0:
		return 0
	case n < 4: // the same byte may be read twice
		return uint64(s[0]) | uint64(s[n>>1])<<(8*(n>>1)) | uint64(s[n-1])<<(8*(n-1))
	}
	return load32(s) | load32(s[n-4:])<<(8*(n-4))
}

func load32(s string) uint64 {
	_ = s[3]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}

// scramble is the finalizer of SplitMix64 (Steele, Lea, Flood: Fast Splittable
// Pseudorandom Number Generators, 2014): every bit of x reaches every bit of
// the result.
func scramble(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// below maps r, uniform over 64 bits, to [0, n) without a division.
func below(r uint64, n int) int {
	hi, _ := bits.Mul64(r, uint64(n))
	return int(hi)
}

// Folder is a value that folds itself into a rolling 64-bit hash. Message
// bodies that implement it are hashed several times faster than by reflection.
type Folder interface{ Fold(h uint64) uint64 }

// Mix folds x into the rolling hash h; MixString does it for a string. They are
// for implementations of [Folder].
func Mix(h, x uint64) uint64 { return mix(h, x) }

// Scramble spreads x over 64 bits, one to one: 0 stays 0.
func Scramble(x uint64) uint64 { return scramble(x) }

// MixString folds s into the rolling hash h.
func MixString(h uint64, s string) uint64 { return mixString(h, s) }

// foldAny hashes a plain comparable value, by its own method if it has one.
func foldAny(h uint64, v any) uint64 {
	switch x := v.(type) {
	case nil:
		return mix(h, 1)
	case Folder:
		return x.Fold(h)
	case int:
		return mix(h, uint64(x))
	case int64:
		return mix(h, uint64(x))
	case string:
		return mixString(h, x)
	}
	return foldValue(h, reflect.ValueOf(v))
}

func foldValue(h uint64, v reflect.Value) uint64 {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return mix(h, 1)
		}
		return mix(h, 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return mix(h, uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return mix(h, v.Uint())
	case reflect.String:
		return mixString(h, v.String())
	case reflect.Array:
		for i := range v.Len() {
			h = foldValue(h, v.Index(i))
		}
		return h
	case reflect.Struct:
		h = mixString(h, v.Type().Name())
		for i := range v.NumField() {
			h = foldValue(h, v.Field(i))
		}
		return h
	case reflect.Interface:
		if v.IsNil() {
			return mix(h, 1)
		}
		return foldValue(mixString(h, v.Elem().Type().Name()), v.Elem())
	}
	panic(Misuse(fmt.Sprintf("a %s cannot be sent or stored: expected a plain value of integers, strings, booleans, arrays and structs of them; copy what it refers to into one", v.Type())))
}

// Misuse is the panic value of process code that asks the simulator for
// something that it cannot do. Its text says what to do instead.
type Misuse string

func (m Misuse) Error() string { return "sim: " + string(m) }
