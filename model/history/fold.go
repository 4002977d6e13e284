package history

import "math/bits"

// Keys of the fields in [Event.Fold]: the first outputs of SplitMix64 from
// seed 0 (Steele, Lea and Flood, OOPSLA 2014). A key of its own for each field
// says which field a word belongs to, so that absent fields cost nothing.
const (
	keyEnd        = 0xe220a8397b1dcdaf
	keyTime       = 0x6e789e6aa1b965f4
	keyProcess    = 0x06c45d188009454f
	keyClient     = 0xf88bb8a8724c81ec
	keyOp         = 0x1b39896a51a8749b
	keyResource   = 0x53cb9f0c747ea2ea
	keyScope      = 0x2c829abe1f4532e1
	keyToken      = 0xc584133ac916ab3c
	keyHighest    = 0x3ee5789041c98ac3
	keyLease      = 0xf3b8488c368cb0a6
	keyOwner      = 0x657eecdd3cb13d09
	keyGeneration = 0xc2d326e0055bdef6
	keyValueNum   = 0x8621a03fe0bbdb7b
	keyValueStr   = 0x8e1f7555983aa92f
	keyExpectNum  = 0xb54e0f1600cc4d19
	keyExpectStr  = 0x84bb3f97971d80ab
	keySeq        = 0x7d29825c75521255
	keyPrepared   = 0xc3cf17102b7f7f86
	keyBasis      = 0x3466e9a083914f64
	keyExpires    = 0xd81a8d2b5a4485ac
	keyUntil      = 0xdb01602b100b9ed7
	keyRejections = 0xa9038a921825f10d
	keyError      = 0xedf5f1d90dca2f6a
	keyTo         = 0x54496ad67bd2634c
	keyMessage    = 0xdd7c01d4f5407269
	keyCopy       = 0x935e82f1db4c4f7b
	keyText       = 0x69b82ebc92233300
	keyMore       = 0x40d29eb57de1d510 // the words of a string after its first
)

// Fold mixes the event into the rolling hash h and returns the new hash. Two
// runs with the same events have the same hash on every machine. Every field
// counts but Index, which the order of the calls implies. It is no defence
// against someone who looks for a collision.
func (e *Event) Fold(h uint64) uint64 {
	g := h // texts go their own way, since a multiplication waits for the one before
	h = mixInt(h, e.Time, keyTime)
	g = mixText(g, e.Process, keyProcess)
	g = mixText(g, e.Client, keyClient)
	h = mixInt(h, e.Op, keyOp)
	g = mixText(g, e.Resource, keyResource)
	g = mixText(g, e.Scope, keyScope)
	h = mixInt(h, int64(e.Token), keyToken)
	h = mixInt(h, int64(e.Highest), keyHighest)
	g = mixText(g, e.Lease, keyLease)
	g = mixText(g, e.Owner, keyOwner)
	h = mixInt(h, e.Generation, keyGeneration)
	h = mixInt(h, e.Value.Num, keyValueNum)
	// Most events have none of the fields below: a test for each group of them.
	if len(e.Value.Str)|len(e.Expect.Str) != 0 {
		g = mixText(g, e.Value.Str, keyValueStr)
		g = mixText(g, e.Expect.Str, keyExpectStr)
	}
	if e.Expect.Num|e.Seq|int64(e.Prepared)|e.Basis != 0 {
		h = mixInt(h, e.Expect.Num, keyExpectNum)
		h = mixInt(h, e.Seq, keySeq)
		h = mixInt(h, int64(e.Prepared), keyPrepared)
		h = mixInt(h, e.Basis, keyBasis)
	}
	if e.Expires|e.Until|e.Rejections != 0 {
		h = mixInt(h, e.Expires, keyExpires)
		h = mixInt(h, e.Until, keyUntil)
		h = mixInt(h, e.Rejections, keyRejections)
	}
	if len(e.Error)|len(e.To)|len(e.Text) != 0 {
		g = mixText(g, e.Error, keyError)
		g = mixText(g, e.To, keyTo)
		g = mixText(g, e.Text, keyText)
	}
	if e.Message|e.Copy != 0 {
		h = mixInt(h, e.Message, keyMessage)
		h = mixInt(h, e.Copy, keyCopy)
	}
	// This word is always there and never 0, so it also ends the event.
	h = mix(h, 1<<63|uint64(e.Type)|uint64(e.F)<<8|uint64(e.Value.Kind)<<16|uint64(e.Expect.Kind)<<24, keyEnd)
	return mix(h, g, keyMore)
}

// mix is the folded 128-bit product of wyhash: one multiplication a word.
func mix(h, word, key uint64) uint64 {
	hi, lo := bits.Mul64(h^word, key)
	return hi ^ lo
}

func mixInt(h uint64, n int64, key uint64) uint64 {
	if n == 0 {
		return h
	}
	return mix(h, uint64(n), key)
}

func mixText(h uint64, s string, key uint64) uint64 {
	if s == "" {
		return h
	}
	return mixBytes(h, s, key)
}

// mixBytes mixes a string that is not empty. Up to seven bytes are one word,
// with the length in the top byte; a longer string is its length and then
// eight bytes a word, the last word overlapping the one before.
func mixBytes(h uint64, s string, key uint64) uint64 {
	n := len(s)
	switch {
	case n >= 8:
		h = mix(h, uint64(n), key)
		for i := 0; i+8 < n; i += 8 {
			h = mix(h, load64(s[i:]), keyMore)
		}
		return mix(h, load64(s[n-8:]), keyMore)
	case n >= 4:
		// The two loads overlap in their middle bytes; which ones, n says.
		return mix(h, uint64(n)<<56|(load32(s)|load32(s[n-4:])<<((uint(n)-4)*8)), key)
	default:
		return mix(h, uint64(n)<<56|uint64(s[0])|uint64(s[n>>1])<<8|uint64(s[n-1])<<16, key)
	}
}

func load64(s string) uint64 {
	_ = s[7] // one bounds check
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func load32(s string) uint64 {
	_ = s[3]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}
