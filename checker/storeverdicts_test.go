package checker

// storeVerdicts are those of the properties about identities, scopes, updates
// and restarts.
var storeVerdicts = []verdict{
	{"no-lost-update", "the late write comes between the read and the write, and no token is stale", timed, `
		store served op=1 token=2 owner=B value=0
		store apply op=2 token=1 owner=A value=10
		store apply op=3 token=2 owner=B value=1 basis=1
	`, "a write with token 2 applied at #3 was based on the value of #1, which a late write of token 1 had changed at #2 (orders/7)"},
	{"no-lost-update", "the cure: the late write is refused", timed, `
		store raised op=4 token=2 owner=B
		store served op=1 token=2 owner=B value=0
		store reject op=2 token=1 owner=A highest=2
		store apply op=3 token=2 owner=B value=1 basis=1
	`, ""},
	{"no-lost-update", "the late write came before the read", timed, `
		store apply op=2 token=1 owner=A value=10
		store served op=1 token=2 owner=B value=10
		store apply op=3 token=2 owner=B value=11 basis=1
	`, ""},
	{"no-lost-update", "a write that used no value loses none", timed, `
		store served op=1 token=2 owner=B value=0
		store apply op=2 token=1 owner=A value=10
		store apply op=3 token=2 owner=B value=1
	`, ""},
	{"no-lost-update", "the holder's own write in between is its own affair", timed, `
		store served op=1 token=2 owner=B value=0
		store apply op=2 token=2 owner=B value=5
		store apply op=3 token=2 owner=B value=1 basis=1
	`, ""},
	{"no-lost-update", "another resource changed", timed, `
		store served op=1 token=2 owner=B value=0
		store apply op=2 token=1 owner=A value=10 r=orders/8
		store apply op=3 token=2 owner=B value=1 basis=1
	`, ""},
	{"no-lost-update", "based on its own write", timed, `
		store apply op=1 token=2 owner=B value=1
		store apply op=2 token=1 owner=A value=10
		store apply op=3 token=2 owner=B value=2 basis=1
	`, "a write with token 2 applied at #3 was based on the value of #1, which a late write of token 1 had changed at #2 (orders/7)"},

	{"no-lost-update", "its own write came on top of the late one", timed, `
		store served op=1 token=2 owner=B value=0
		store apply op=2 token=1 owner=A value=10
		store apply op=3 token=2 owner=B value=20
		store apply op=4 token=2 owner=B value=1 basis=1
	`, "a write with token 2 applied at #4 was based on the value of #1, which a late write of token 1 had changed at #2 (orders/7)"},
	{"no-lost-update", "the late write carries no token at all", timed, `
		store served op=1 token=2 owner=B value=0
		store apply op=2 owner=A value=10
		store apply op=4 token=2 owner=B value=1 basis=1
	`, "a write with token 2 applied at #3 was based on the value of #1, which a late write of no token had changed at #2 (orders/7)"},

	{"linearizable", "a write that takes effect a second time undoes another", timed, `
		A invoke write op=1 token=1 value=1
		store apply op=1 token=1
		B invoke write op=2 token=1 value=2
		B invoke read op=3 token=1
		store served op=3 token=1
		B ok read op=3 token=1 value=1
		store apply op=2 token=1
		B ok write op=2 token=1
		B invoke read op=4 token=1
		store served op=4 token=1
		B ok read op=4 token=1 value=2
		store apply op=1 token=1
		A ok write op=1 token=1
		B invoke read op=5 token=1
		store served op=5 token=1
		B ok read op=5 token=1 value=1
	`, "write 1 with token 1 took effect a second time at #12 (orders/7)"},
	{"linearizable", "the first acceptance of the greatest token is quoted", timed, `
		B invoke raise op=1 token=2
		store raised op=1 token=2
		B ok raise op=1 token=2
		B invoke write op=2 token=2 value=2
		store apply op=2 token=2
		B ok write op=2 token=2
		A invoke write op=3 token=1 value=1
		store apply op=3 token=1
		A ok write op=3 token=1
	`, "the store accepted write 1 with token 1 at #8 although token 2 was accepted at #2 (orders/7)"},
	{"fence-survives", "one fence for every scope sinks in whichever is served", global, `
		store apply op=1 token=2 highest=2 r=x
		store apply op=2 token=1 highest=1 r=y
	`, "the store's greatest token was 2 at #1 and is 1 at #2 (y)"},
	{"fence-survives", "the fences of two scopes have nothing to do with each other", timed, `
		store apply op=1 token=2 highest=2 r=x
		store apply op=2 token=1 highest=1 r=y
	`, ""},
	{"fence-survives", "the fence is down after the crash", timed, `
		store apply op=1 token=2 highest=2 value=20
		store crash
		store restart
		store apply op=2 token=1 highest=1 value=10
	`, "the store's greatest token was 2 at #1 and is 1 at #4 (orders/7)"},
	{"fence-survives", "the fence is collected while the store is up", timed, `
		store raised op=1 token=2 highest=2
		store reject op=2 token=1 highest=1
	`, "the store's greatest token was 2 at #1 and is 1 at #2 (orders/7)"},
	{"fence-survives", "the fence is up after the crash", timed, `
		store apply op=1 token=2 highest=2 value=20
		store crash
		store restart
		store reject op=2 token=1 highest=2
	`, ""},
	{"fence-survives", "an acknowledged write is gone", timed, `
		store apply op=1 token=2 highest=2 value=20
		B ok write op=1 token=2
		store crash
		store restart
		store served op=3 token=2 value=10
	`, "the store served 10 at #5 after its restart at #4, and had acknowledged 20, written at #1 (orders/7)"},
	{"fence-survives", "a write that nobody was told of may be gone", timed, `
		store apply op=1 token=2 highest=2 value=10
		B ok write op=1 token=2
		store apply op=2 token=2 highest=2 value=20
		store crash
		store restart
		store served op=3 token=2 value=10
		store served op=4 token=2 value=10
	`, ""},
	{"fence-survives", "or may be there", timed, `
		store apply op=1 token=2 highest=2 value=10
		B ok write op=1 token=2
		store apply op=2 token=2 highest=2 value=20
		store crash
		store restart
		store served op=3 token=2 value=20
	`, ""},
	{"fence-survives", "but nothing older than what was acknowledged", timed, `
		store apply op=1 token=2 highest=2 value=10
		B ok write op=1 token=2
		store apply op=2 token=2 highest=2 value=20
		store crash
		store restart
		store served op=3 token=2 value=5
	`, "the store served 5 at #6 after its restart at #5, and had acknowledged 10, written at #1 (orders/7)"},
	{"fence-survives", "of two writes that nobody was told of one is gone", timed, `
		store apply op=1 token=1 value=1
		A ok write op=1
		store apply op=2 token=1 value=2
		store apply op=3 token=1 value=3
		store restart
		store served op=4 token=1 value=2
	`, ""},
	{"fence-survives", "a write whose answer came after the next one's effect must survive too", timed, `
		store apply op=1 token=1 value=1
		A ok write op=1
		store apply op=2 token=1 value=2
		store apply op=3 token=1 value=3
		A ok write op=2
		store restart
		store served op=4 token=1 value=1
	`, "the store served 1 at #7 after its restart at #6, and had acknowledged 2, written at #3 (orders/7)"},
	{"fence-survives", "a cas that was acknowledged must survive as well", timed, `
		store apply op=1 token=1 value=1
		A ok write op=1
		store apply op=2 token=1 value=2
		A ok cas op=2
		store restart
		store served op=4 token=1 value=1
	`, "the store served 1 at #6 after its restart at #5, and had acknowledged 2, written at #3 (orders/7)"},
	{"fence-survives", "notes that do not tell values say nothing of them", timed, `
		store apply op=1 token=1
		A ok write op=1
		store restart
		store served op=4 token=1 value=1
		store served op=5 token=1
	`, ""},
	{"fence-survives", "a deleted value may be what it was at first", timed, `
		store apply op=1 token=1 value=1
		A ok write op=1
		store apply op=2 token=1
		A ok delete op=2
		store restart
		store served op=4 token=1 value=0
	`, ""},
	{"fence-survives", "another process restarts", timed, `
		store apply op=1 token=2 highest=2 value=20
		B ok write op=1 token=2
		A restart
		store served op=3 token=2 value=10
	`, ""},
	{"fence-survives", "a note that names no greatest token says nothing of it", timed, `
		store apply op=1 token=2 highest=2
		store apply op=2 token=2
	`, ""},

	{"scope-isolation", "refused for what another scope accepted", timed, `
		store apply op=1 token=5 lease=b r=orders/8
		store reject op=2 token=3 lease=a highest=5
	`, "token 3 refused at #2 although the store had accepted no token (orders/7)"},
	{"scope-isolation", "a deliberate global generation", global, `
		store apply op=1 token=5 lease=b r=orders/8
		store reject op=2 token=3 lease=a highest=5
	`, ""},
	{"scope-isolation", "a greater token justifies it", timed, `
		store apply op=1 token=5 lease=b
		store reject op=2 token=3 lease=a highest=5
	`, ""},
	{"scope-isolation", "an equal token of another lease justifies it", timed, `
		store apply op=1 token=3 lease=b
		store reject op=2 token=3 lease=a highest=3
	`, ""},
	{"scope-isolation", "its own token does not", timed, `
		store apply op=1 token=3 lease=a
		store reject op=2 token=3 lease=a highest=3
	`, "token 3 refused at #2 although the greatest token accepted is 3 of the same lease or an older one, at #1 (orders/7)"},
	{"scope-isolation", "nor does an older one", timed, `
		store apply op=1 token=2 lease=b
		store reject op=2 token=3 lease=a highest=9
	`, "token 3 refused at #2 although the greatest token accepted is 2 of the same lease or an older one, at #1 (orders/7)"},

	{"scope-isolation", "a read that was answered may have lifted the fence", timed, `
		store served op=1 token=3
		store reject op=2 token=2 highest=3
	`, ""},
	{"scope-isolation", "a read of an older token justifies nothing", timed, `
		store served op=1 token=1
		store reject op=2 token=2 highest=3
	`, "token 2 refused at #2 although the store had accepted no token (orders/7)"},
	{"lease-identity", "a renewal resurrects a lease that was superseded twice", timed, `
		L grant op=1 token=1 lease=a owner=A
		L expire token=1 lease=a owner=A
		L grant op=2 token=2 lease=b owner=B
		L released op=3 token=2 lease=b owner=B
		L renewed op=4 token=1 lease=a owner=A
	`, "a lease was renewed at #5 that had ended at #2 (orders/7)"},
	{"lease-identity", "clients: a renewal that began before the release ended may have come before it", timed, `
		A invoke renew op=1 lease=a
		A/2 invoke release op=2 lease=a client=A
		A/2 ok release op=2 lease=a client=A
		A ok renew op=1 lease=a
	`, ""},
	{"lease-identity", "clients: released twice", timed, `
		A invoke release op=1 lease=a
		A ok release op=1 lease=a
		A invoke release op=2 lease=a
		A ok release op=2 lease=a
	`, "a lease was released at #4 that had ended at #2 (orders/7)"},
	{"lease-identity", "clients: a renewal after the release is refused by right", timed, `
		A invoke release op=1 lease=a
		A ok release op=1 lease=a
		A invoke renew op=2 lease=a
		A fail renew op=2 lease=a
	`, ""},
	{"lease-identity", "clients: a renewal that began after the release resurrects", timed, `
		A invoke release op=1 lease=a
		A ok release op=1 lease=a
		A invoke renew op=2 lease=a
		A ok renew op=2 lease=a
	`, "a lease was renewed at #4 that had ended at #2 (orders/7)"},
	{"lease-identity", "a renewal of unknown outcome takes effect on another's lease", timed, `
		A invoke renew op=3 token=1 lease=a
		A info renew op=3 token=1 lease=a
		L renewed op=3 token=2 lease=b owner=B
	`, "the request at #1 took effect at #3 on another lease than it presented (orders/7)"},
	{"lease-identity", "a request that was answered is over", timed, `
		A invoke renew op=3 token=1 lease=a
		A fail renew op=3 token=1 lease=a
		L renewed op=3 token=2 lease=b owner=B
	`, ""},
	{"lease-identity", "a lease that ends again and again takes one place of those remembered", timed, `
		L expire token=1 lease=a owner=A
		L expire token=2 lease=b owner=B
		L expire token=2 lease=b owner=B
		L expire token=2 lease=b owner=B
		L expire token=2 lease=b owner=B
		L renewed token=1 lease=a owner=A
	`, "a lease was renewed at #6 that had ended at #1 (orders/7)"},
	{"lease-identity", "a renewal that names no lease is of none that ended", timed, `
		L expire token=1 lease=a owner=A
		L renewed token=1 owner=A
	`, ""},
	{"lease-identity", "a renewal takes effect on another's lease", timed, `
		L grant token=2 lease=b owner=B
		A invoke renew op=3 token=1 lease=a
		L renewed op=3 token=2 lease=b owner=B
	`, "the request at #2 took effect at #3 on another lease than it presented (orders/7)"},
	{"lease-identity", "a release takes effect on another's lease", timed, `
		L grant token=2 lease=b owner=B
		A invoke release op=3 token=1 lease=a
		L released op=3 token=2 lease=b owner=B
	`, "the request at #2 took effect at #3 on another lease than it presented (orders/7)"},
	{"lease-identity", "its own", timed, `
		L grant token=2 lease=b owner=B
		B invoke renew op=3 token=2 lease=b
		L renewed op=3 token=2 lease=b owner=B
		B invoke release op=4 token=2 lease=b
		L released op=4 token=2 lease=b owner=B
	`, ""},
	{"lease-identity", "a renewal resurrects an expired lease", timed, `
		L grant token=1 lease=a owner=A
		L expire token=1 lease=a owner=A
		A invoke renew op=3 token=1 lease=a
		L renewed op=3 token=1 lease=a owner=A
	`, "a lease was renewed at #4 that had ended at #2 (orders/7)"},
	{"lease-identity", "the next lease is renewed after one expired", timed, `
		L grant token=1 lease=a owner=A
		L expire token=1 lease=a owner=A
		L grant token=2 lease=b owner=A
		A invoke renew op=3 token=2 lease=b
		L renewed op=3 token=2 lease=b owner=A
	`, ""},
	{"lease-identity", "clients: a lease is renewed after its release", timed, `
		A ok acquire op=1 token=1 lease=a
		A ok release op=2 token=1 lease=a
		A ok renew op=3 token=1 lease=a
	`, "a lease was renewed at #3 that had ended at #2 (orders/7)"},
	{"lease-identity", "clients: released after a renewal", timed, `
		A ok acquire op=1 token=1 lease=a
		A ok renew op=2 token=1 lease=a
		A ok release op=3 token=1 lease=a
	`, ""},

	{"exclusive-belief", "a second client believes while the first still does", timed, `
		A believe t=1 token=1 lease=a owner=A until=10
		B believe t=5 token=2 lease=b owner=B until=15
	`, "B believes at #2 in its lease, and so does A since #1, until 10000000000 (orders/7)"},
	{"exclusive-belief", "of two that believe, by a clock that went back, the first is named", timed, `
		C disbelieve t=0
		B disbelieve t=0
		A believe t=1 until=3
		B believe t=5 until=8
		C believe t=2 until=9
	`, "C believes at #5 in its lease, and so does A since #3, until 3000000000 (orders/7)"},
	{"exclusive-belief", "who gave up believes at no time, be it before zero", timed, `
		A disbelieve t=-9
		B believe t=-5 until=8
	`, ""},
	{"exclusive-belief", "a belief that is over when it is noted is none", timed, `
		A believe t=1 until=10
		B believe t=5 until=5
	`, ""},
	{"exclusive-belief", "the first belief has run out", timed, `
		A believe t=1 token=1 lease=a owner=A until=10
		B believe t=10 token=2 lease=b owner=B until=20
	`, ""},
	{"exclusive-belief", "the first gave it up", timed, `
		A believe t=1 token=1 lease=a owner=A until=10
		A disbelieve t=3 token=1 lease=a owner=A
		B believe t=5 token=2 lease=b owner=B until=15
	`, ""},
	{"exclusive-belief", "the same client renews", timed, `
		A believe t=1 token=1 lease=a owner=A until=10
		A believe t=5 token=1 lease=a owner=A until=15
	`, ""},
}
