package history

import "math/bits"

// Keys of the fields in [Event.Fold]: outputs of SplitMix64 from seed 0 (Steele,
// Lea and Flood, OOPSLA 2014), made odd. A key of its own for each field says
// which field a word belongs to.
const (
	keyEnd        = 0xe220a8397b1dcdaf
	keyTime       = 0x6e789e6aa1b965f5
	keyProcess    = 0x06c45d188009454f
	keyClient     = 0xf88bb8a8724c81ed
	keyOp         = 0x1b39896a51a8749b
	keyResource   = 0x53cb9f0c747ea2eb
	keyScope      = 0x2c829abe1f4532e1
	keyToken      = 0xc584133ac916ab3d
	keyHighest    = 0x3ee5789041c98ac3
	keyLease      = 0xf3b8488c368cb0a7
	keyOwner      = 0x657eecdd3cb13d09
	keyGeneration = 0xc2d326e0055bdef7
	keyValueNum   = 0x8621a03fe0bbdb7b
	keyValueStr   = 0x8e1f7555983aa92f
	keyExpectNum  = 0xb54e0f1600cc4d19
	keyExpectStr  = 0x84bb3f97971d80ab
	keySeq        = 0x7d29825c75521255
	keyPrepared   = 0xc3cf17102b7f7f87
	keyBasis      = 0x3466e9a083914f65
	keyExpires    = 0xd81a8d2b5a4485ad
	keyUntil      = 0xdb01602b100b9ed7
	keyRejections = 0xa9038a921825f10d
	keyError      = 0xedf5f1d90dca2f6b
	keyTo         = 0x54496ad67bd2634d
	keyMessage    = 0xdd7c01d4f5407269
	keyCopy       = 0x935e82f1db4c4f7b
	keyText       = 0x69b82ebc92233301
	keyMore       = 0x40d29eb57de1d511 // the words of a string after its first
)

// Fold mixes the event into the rolling hash h and returns the new hash. Two
// runs with the same events have the same hash on every machine. Every field
// counts but Index, which the order of the calls implies. It is no defence
// against someone who looks for a collision.
//
// It is a sum of products of words and odd keys, which wait for nothing, before
// the one multiplication that waits for h (multilinear hashing: Carter and
// Wegman, 1979).
func (e *Event) Fold(h uint64) uint64 {
	n := uint64(e.Time)*keyTime + uint64(e.Op)*keyOp + uint64(e.Token)*keyToken + uint64(e.Highest)*keyHighest +
		uint64(e.Generation)*keyGeneration + uint64(e.Value.Num)*keyValueNum +
		(1<<63|uint64(e.Type)|uint64(e.F)<<8|uint64(e.Value.Kind)<<16|uint64(e.Expect.Kind)<<24)*keyEnd
	n += pack(e.Process)*keyProcess + pack(e.Resource)*keyResource
	if e.Client != "" {
		n += pack(e.Client) * keyClient
	}
	if e.Lease != "" {
		n += pack(e.Lease) * keyLease
	}
	if e.Owner != "" {
		n += pack(e.Owner) * keyOwner
	}
	if e.Basis|e.Expires|e.Until|e.Rejections != 0 {
		n += uint64(e.Basis)*keyBasis + uint64(e.Expires)*keyExpires + uint64(e.Until)*keyUntil + uint64(e.Rejections)*keyRejections
	}
	// Most events have none of the fields that follow.
	if e.Expect.Num|e.Seq|int64(e.Prepared)|e.Message|e.Copy != 0 {
		n += uint64(e.Expect.Num)*keyExpectNum + uint64(e.Seq)*keySeq + uint64(e.Prepared)*keyPrepared +
			uint64(e.Message)*keyMessage + uint64(e.Copy)*keyCopy
	}
	if len(e.Value.Str)|len(e.Expect.Str)|len(e.Scope)|len(e.Error)|len(e.To)|len(e.Text) != 0 {
		n += pack(e.Value.Str)*keyValueStr + pack(e.Expect.Str)*keyExpectStr + pack(e.Scope)*keyScope +
			pack(e.Error)*keyError + pack(e.To)*keyTo + pack(e.Text)*keyText
	}
	return mix(h, n, keyMore)
}

// mix is the folded 128-bit product of wyhash.
func mix(h, word, key uint64) uint64 {
	hi, lo := bits.Mul64(h^word, key)
	return hi ^ lo
}

// pack makes one word of a text: of up to seven bytes these, with the length in
// the top byte, of more a hash.
func pack(s string) uint64 {
	n := uint(len(s))
	switch {
	case n >= 8:
		return hashLong(s)
	case n >= 4:
		// The two loads overlap in their middle bytes; which ones, n says.
		return uint64(n)<<56 | (load32(s) | load32(s[n-4:])<<((n-4)*8))
	case n > 0:
		return uint64(n)<<56 | uint64(s[0]) | uint64(s[n>>1])<<8 | uint64(s[n-1])<<16
	}
	return 0
}

// hashLong hashes eight bytes or more: the length, and then eight bytes a word,
// the last word overlapping the one before.
func hashLong(s string) uint64 {
	n := len(s)
	h := uint64(n)
	for i := 0; i+8 < n; i += 8 {
		h = mix(h, load64(s[i:]), keyMore)
	}
	return mix(h, load64(s[n-8:]), keyMore)
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
