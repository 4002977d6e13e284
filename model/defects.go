package model

import (
	"fmt"
	"strings"
)

// Defects is a set of defects, each a branch in the code of this package. The
// zero Defects is the protocol as it should be.
type Defects uint64

// The defects.
const (
	StoreIgnoresToken Defects = 1 << iota
	LocalCheckOnly
	RenewAndTrust
	StoreComparesIdentity
	StoreRefusesEqual
	StoreReappliesCopies
	TokenNotIncreased
	RenewalRaisesToken
	GrantWhileHeld
	HolderIgnoresRejection
	defectsEnd
)

// Defect describes one defect.
type Defect struct {
	Set  Defects // exactly one
	Name string
	Doc  string
	Case string // a public case in which it was made
}

// defectTable is in the order of the bits.
var defectTable = []Defect{
	{StoreIgnoresToken, "store-ignores-token",
		"the store applies every write and never looks at its token",
		"https://github.com/etcd-io/etcd/issues/10811"},
	{LocalCheckOnly, "local-check-only",
		"the holder looks at its own clock before it writes and sends no token with the write",
		"https://jepsen.io/blog/2020-01-30-etcd-3.4.3"},
	{RenewAndTrust, "renew-and-trust",
		"the holder renews its lease before every write, trusts that, and sends no token",
		"https://github.com/vespa-engine/vespa/issues/24458"},
	{StoreComparesIdentity, "store-compares-identity",
		"the store is given the lease's random identity: a different one is taken for the new holder, although it may be the old one",
		"https://github.com/awslabs/amazon-dynamodb-lock-client/issues/1"},
	{StoreRefusesEqual, "store-refuses-equal",
		"the store refuses token <= highest, and so the holder's own second write",
		"https://www.abyiber.com/blog/distributed-systems-fencing-tokens"},
	{StoreReappliesCopies, "store-reapplies-copies",
		"the store keeps no record of the operations it has served, so a copy of a message takes effect again",
		"https://github.com/aws/aws-sdk-java-v2/issues/6580"},
	{TokenNotIncreased, "token-not-increased",
		"the lease manager grants the next lease with the token of the last one",
		"https://github.com/foundationdb-rs/foundationdb-rs/issues/483"},
	{RenewalRaisesToken, "renewal-raises-token",
		"every renewal hands out a new token, so the holder's earlier writes are stale against its later ones",
		"https://github.com/awslabs/amazon-kinesis-client/issues/537"},
	{GrantWhileHeld, "grant-while-held",
		"the lease manager grants a lease although another is in force",
		"https://github.com/etcd-io/etcd/issues/11456"},
	{HolderIgnoresRejection, "holder-ignores-rejection",
		"a holder that was refused as stale goes on under the same token",
		"https://github.com/NishanthSpShetty/lignum/issues/34"},
}

// AllDefects lists every defect.
func AllDefects() []Defect { return defectTable }

// Has reports whether d contains all of x.
func (d Defects) Has(x Defects) bool { return d&x != 0 }

// String lists the names, joined by "+"; the empty set is "none".
func (d Defects) String() string {
	if d == 0 {
		return "none"
	}
	var names []string
	for _, x := range defectTable {
		if d.Has(x.Set) {
			names = append(names, x.Name)
		}
	}
	return strings.Join(names, "+")
}

// ParseDefects reads what [Defects.String] writes.
func ParseDefects(text string) (Defects, error) {
	if text == "none" || text == "" {
		return 0, nil
	}
	var d Defects
	for _, name := range strings.Split(text, "+") {
		x, ok := defectNamed(name)
		if !ok {
			return 0, fmt.Errorf("unknown defect %q: expected one of %s", name, (defectsEnd - 1).String())
		}
		d |= x
	}
	return d, nil
}

func defectNamed(name string) (Defects, bool) {
	for _, x := range defectTable {
		if x.Name == name {
			return x.Set, true
		}
	}
	return 0, false
}
