/*
 * The traversal protocol: ranges, leases, parked records, splits, one fenced checkpointer, restore, floors, guard.
 *
 * One job over the window (0,N] of one partition; a second job B that wants everything from offset 2 on and is accepted
 * while the guard works. Two workers, up to two distributors of which the younger fences the older, a guard, and chaos.
 * The job's keys (J) and the floors of the partition (T) are lost apart or together. Every script of the store is one
 * atomic step, so is a Kafka transaction; between two steps anything may happen, which is how a program is suspended.
 *
 * Without flags this is the protocol as it is built. -DBUG_xxx takes one rule away, and must be found.
 */
#ifndef N
#define N 4
#endif
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef TAKEOVERS
#define TAKEOVERS 1             /* distributors that replace the one before, which goes on as a zombie */
#endif
#ifndef CLAIMOVER
#define CLAIMOVER 1             /* times a lease runs out under a worker that goes on */
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef FAILS
#define FAILS 1                 /* attempts that fail, and park the offset or keep it parked */
#endif
#ifndef SPLITS
#define SPLITS 1
#endif
#ifndef LOSSES
#define LOSSES 1
#endif

#define NR 2                    /* the planned range, and the child that starts at CUT */
#define CUT 2
#define CHUNK 2
#define START(i) ((i) == 0 -> 0 : CUT)
#define BIT(o) (1 << (o))
#define UPTO(o) ((1 << ((o) + 1)) - 2)
#define SPAN(a, b) (UPTO(b) & ~UPTO(a))
#define MIN(a, b) ((a) < (b) -> (a) : (b))
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define LOWEST(m) (((m) & 2) -> 1 : (((m) & 4) -> 2 : (((m) & 8) -> 3 : (((m) & 16) -> 4 : (((m) & 32) -> 5 : N + 1)))))

/* ---- the store, J: complete, epoch of the installation, ranges. No end is stored. ---- */
bool jok = 1;
byte jep = 1;
bool lv[NR];
byte cur[NR], hor[NR], own[NR], tok[NR];
byte pk;                        /* parked offsets of all ranges */
#define END(i) ((i) == 0 && lv[1] -> CUT : N)
#define OPEN(i) (lv[i] && (cur[i] < END(i) || (pk & SPAN(START(i), END(i)))))
/* ---- the store, T: a floor is the lowest offset that is still needed, 0 = none; what is below the mark may go ---- */
bool tok_ = 1;
byte flA = 1, flB, mark = 1;
bool bStays;                    /* B's floor is no reservation any more */
/* ---- Kafka ---- */
bool ckx[NR];
byte ckcur[NR], ckpk;           /* the checkpoints: whole, of one look */
byte epochs = 1;                /* the offset of the newest epoch record */
byte gen = 1;                   /* the distributor that holds the transactional id */
bool doneA, bDur, bLive, bGone;
byte markDur = 1, logStart = 1;
/* ---- workers, by their tokens ---- */
byte wt[3];
byte claimover = CLAIMOVER, crashes = CRASHES, fails = FAILS, splits = SPLITS, losses = LOSSES, takeovers = TAKEOVERS;
/* ---- ghosts ---- */
byte settled;
byte gmax[NR];                  /* the highest token ever granted, by the place where a range starts */
byte gt[N + 1], seq, wseq[3];   /* the real order of grants */

hidden byte i_, o_, a_;

#define NEEDR(i) (lv[i] -> SPAN(cur[i], END(i)) : 0)
#define NEED (NEEDR(0) | NEEDR(1) | pk)
#define PREFIX_OK(i) (!lv[i] || (SPAN(START(i), cur[i]) & ~(settled | pk)) == 0)
#define CURRENT(w, r) (jok && lv[r] && own[r] == w && tok[r] == wt[w])

/* ============================== workers ============================== */

#define CLAIMABLE(i) (jok && !doneA && OPEN(i) && (own[i] == 0 || wt[own[i]] != tok[i] || claimover > 0))

inline draw(r) {                /* (epoch, grant): text that compares as a number does */
  seq++;
#ifdef BUG_NO_EPOCH
  a_ = tok[r] + 1;
#else
  a_ = MAX(tok[r] + 1, jep * 16 + 1);
#endif
  assert(a_ > gmax[r]);                                                          /* (e) tokens grow, whatever was lost */
  gmax[r] = a_; tok[r] = a_; a_ = 0
}

inline lease(i) {
  d_step {
    CLAIMABLE(i) ->
    if :: own[i] != 0 && wt[own[i]] == tok[i] -> claimover-- :: else fi;
    draw(i);
    own[i] = id; r = i; wt[id] = tok[i]; wseq[id] = seq; c = cur[i]; h = c; b1 = 0; b2 = 0;
    for (o_ : 1 .. N) { if :: o_ > START(i) && o_ <= END(i) -> gt[o_] = seq :: else fi }
  }
}

inline forget() { wt[id] = 0; wseq[id] = 0; r = 0; c = 0; h = 0; b1 = 0; b2 = 0; q = 0; out = 0 }

/* out: 1 settled, 2 failed, 0 the record is gone */
inline handle(o) {
  d_step {
    out = 1;
    if
    :: o < logStart -> assert(!(CURRENT(id, r) && !doneA)); out = 0             /* (f) a needed offset was deleted */
    :: else
    fi;
    if
    :: CURRENT(id, r) -> assert(o > START(r) && o <= END(r) && o <= hor[r])      /* (d) an owner stays inside what it claimed */
    :: else
    fi
  }
  if
  :: out == 1 -> settled = settled | BIT(o)
  :: out == 1 && fails > 0 -> fails--; out = 2
  :: out == 0
  fi
}

inline conclude(o, b) {
  if
  :: out == 1 -> b = 1
  :: out == 2 -> b = 1;
#ifndef BUG_PASS_UNPARKED
     q = q | BIT(o)             /* parked by the very advance that passes it */
#endif
  :: out == 0 -> forget(); goto idle
  fi;
  out = 0
}

proctype worker(byte id) {
  byte r, c, h, q, out; bool b1, b2;
idle:
end:
  atomic {
    if
    :: doneA -> goto stop
    :: CLAIMABLE(0) -> lease(0)
    :: CLAIMABLE(1) -> lease(1)
    fi
  }
  do
  /* the horizon first, then the handler */
  :: atomic { c == h && CURRENT(id, r) && cur[r] == c && c < END(r) ->
#ifndef BUG_NO_HORIZON
       hor[r] = MAX(hor[r], MIN(c + CHUNK, END(r)));
#endif
       h = MIN(c + CHUNK, END(r)) }
  :: atomic { !b1 && c + 1 <= h -> handle(c + 1); conclude(c + 1, b1) }
  :: atomic { !b2 && c + 2 <= h -> handle(c + 2); conclude(c + 2, b2) }
#ifdef BUG_ADVANCE_MAX
  :: atomic { b1 || b2 ->
#else
  :: atomic { b1 ->
#endif
       a_ = c + (b2 -> 2 : 1);
       if
#ifdef BUG_NO_TOKEN
       :: jok && lv[r] && cur[r] == c && a_ <= END(r) ->
#else
       :: CURRENT(id, r) && cur[r] == c && a_ <= MIN(hor[r], END(r)) ->
#endif
          for (o_ : 1 .. N) { if :: o_ > c && o_ <= a_ -> assert(gt[o_] == wseq[id]) :: else fi };    /* (c) by the latest grantee only */
          cur[r] = a_; pk = pk | (q & UPTO(a_)); q = q & ~UPTO(a_);
          assert(PREFIX_OK(r));                                                  /* (b) */
          b1 = (a_ == c + 1 -> b2 : 0); b2 = 0;
          c = a_; h = MAX(MIN(h, END(r)), c);
          if :: c == h -> b1 = 0 :: else fi
       :: else -> forget(); goto idle
       fi;
       a_ = 0 }
  /* a parked offset, between chunks, under the lease of its range */
  :: atomic { c == h && !q && CURRENT(id, r) && (pk & SPAN(START(r), END(r))) -> q = LOWEST(pk & SPAN(START(r), END(r))); b2 = 1 }
     atomic {
       b2 = 0; a_ = q; q = 0; handle(a_);
       if
       :: out == 1 -> q = a_
       :: out == 2 -> out = 0
       :: out == 0 -> forget(); a_ = 0; goto idle
       fi;
       a_ = 0; b1 = (q != 0) }
     atomic {
       if
       :: b1 && CURRENT(id, r) -> assert(gt[q] == wseq[id]); pk = pk & ~BIT(q); q = 0; b1 = 0; out = 0
       :: b1 && !CURRENT(id, r) -> forget(); goto idle
       :: else -> skip
       fi }
  :: atomic { c == h && !q && !(CURRENT(id, r) && OPEN(r)) ->
       if :: CURRENT(id, r) -> own[r] = 0 :: else fi;
       forget(); goto idle }
  :: atomic { crashes > 0 -> crashes--; forget(); goto idle }
  od;
stop:
  skip
}

/* ============================== distributor ============================== */

#define CKNEEDR(x, y, z) ((x) -> SPAN(y, z) : 0)
#define BOOKNEED (CKNEEDR(bx[0], bcur[0], (bx[1] -> CUT : N)) | CKNEEDR(bx[1], bcur[1], N) | bpk)
#define WENT_BACK (!jok || (bx[1] && !lv[1]) || (lv[0] && bx[0] && cur[0] < bcur[0]) || (lv[1] && bx[1] && cur[1] < bcur[1]))
#define NEWS (cur[0] != bcur[0] || cur[1] != bcur[1] || pk != bpk || lv[1] != bx[1] || (tok_ && flA && flA < MIN(LOWEST(BOOKNEED), LOWEST(NEED))))
#define MINE (gen == g)
#ifdef BUG_SPLIT_BELOW
#define MAYCUT (jok && lv[0] && !lv[1] && CUT > cur[0] && CUT < N)
#else
#define MAYCUT (jok && lv[0] && !lv[1] && CUT > cur[0] && CUT >= hor[0] && CUT < N)
#endif

inline book() { bx[0] = ckx[0]; bx[1] = ckx[1]; bcur[0] = ckcur[0]; bcur[1] = ckcur[1]; bpk = ckpk }
inline loseJ() {
  for (i_ : 0 .. NR - 1) { lv[i_] = 0; cur[i_] = 0; hor[i_] = 0; own[i_] = 0; tok[i_] = 0 }
  i_ = 0; pk = 0; jok = 0; jep = 0
}

proctype distributor(byte g) {
  bool bx[NR], sx[NR]; byte bcur[NR], bpk, scur[NR], spk, e, v;
  atomic { gen = MAX(gen, g); book(); if :: gen > g -> goto stop :: else fi }
  do
  /* one look at all ranges … one transaction … then the floor, from what was durable before and from the look */
  :: d_step { !doneA && !WENT_BACK && NEWS -> sx[0] = lv[0]; sx[1] = lv[1]; scur[0] = cur[0]; scur[1] = cur[1]; spk = pk;
       v = MIN(LOWEST(BOOKNEED), LOWEST(NEED));
#ifdef BUG_FLOOR_IGNORES_PARKED
       v = MIN(LOWEST(BOOKNEED & ~bpk), LOWEST(NEED & ~pk));
#endif
     }
     atomic {
       if
#ifdef BUG_UNFENCED
       :: !doneA ->
#else
       :: MINE && !doneA ->
#endif
          ckx[0] = sx[0]; ckcur[0] = scur[0]; ckpk = spk;
          ckx[1] = sx[1]; ckcur[1] = scur[1];
          book()
       :: else -> goto stop
       fi }
#ifdef BUG_FLOOR_FROM_STORE
     d_step { v = (jok && !doneA -> LOWEST(NEED) : v) }
#endif
     d_step { if :: tok_ && flA && v > flA -> flA = v :: else fi;
       v = 0; sx[0] = 0; sx[1] = 0; scur[0] = 0; scur[1] = 0; spk = 0 }
  /* a split is made in the store alone; parent and child are in the next look */
  :: d_step { splits > 0 && MAYCUT && !doneA -> splits--; lv[1] = 1; cur[1] = CUT; hor[1] = CUT; own[1] = 0;
       assert(cur[0] <= CUT) }                                                   /* (d) */
#ifdef BUG_PARENT_ALONE         /* the parent's checkpoint says that it ends at the cut, the child is written later */
  :: d_step { lv[1] && !ckx[1] && !doneA -> ckcur[0] = (cur[0] == CUT -> N : cur[0]) }
#endif
  /* restore: an epoch record (a plain append), the proof and the install, which the store refuses to an older epoch */
  :: atomic { !doneA && WENT_BACK -> epochs++; e = epochs }
     atomic {
       if
#ifdef BUG_NO_PROOF
       :: e > jep && !doneA ->
#else
       :: MINE && e > jep && !doneA ->
#endif
          loseJ(); jep = e;
          lv[0] = 1; cur[0] = bcur[0]; hor[0] = bcur[0]; pk = bpk;
          if :: bx[1] -> lv[1] = 1; cur[1] = bcur[1]; hor[1] = bcur[1] :: else fi;
          jok = 1;
          assert(PREFIX_OK(0) && PREFIX_OK(1));                                  /* (b) */
          assert(LOWEST(NEED) >= logStart)                                       /* (f) what a restore needs is there */
       :: !MINE || doneA -> goto stop
       :: else
       fi;
       e = 0 }
  /* the place: withheld, then the durable marks, then the floors, in one filling that two cannot both finish */
  :: d_step { !tok_ && MINE ->
#ifdef BUG_MARK_IN_STORE
       mark = logStart;
#else
       mark = MAX(markDur, logStart);
#endif
       flA = (doneA -> 0 : MIN(LOWEST(BOOKNEED), (jok -> LOWEST(NEED) : N + 1)));
#ifdef BUG_RESTORED_FLOOR_FROM_STORE
       flA = (doneA -> 0 : (jok -> LOWEST(NEED) : LOWEST(BOOKNEED)));
#endif
       flB = 0; bStays = 0;
       if
       :: bLive -> flB = 2; bStays = 1; assert(logStart <= 2)                   /* (f) an accepted job, wherever the mark is */
       :: else
       fi;
       tok_ = 1 }
  /* durable first, then the keys, the floor last */
  :: atomic { MINE && jok && lv[0] && !doneA && !WENT_BACK &&
#ifdef BUG_DONE_IGNORES_PARKED
       LOWEST(NEEDR(0) | NEEDR(1)) == N + 1
#else
       LOWEST(NEED) == N + 1
#endif
       -> doneA = 1; assert(settled == UPTO(N)) }                  /* (a) */
     d_step { loseJ() }
  :: d_step { MINE && doneA && tok_ && flA -> flA = 0 }
#ifdef BUG_FLOOR_DROPPED_FIRST
  :: d_step { MINE && jok && lv[0] && LOWEST(NEEDR(0) | NEEDR(1)) == N + 1 && tok_ -> flA = 0 }
#endif
  :: atomic { !MINE || (doneA && tok_ && !flA) -> goto stop }
  od;
stop:
  skip
}

proctype successor() {
end:
  atomic { takeovers > 0 && !doneA -> takeovers--; run distributor(2) }
}

/* ============================== guard, job B ============================== */

#ifdef GUARD
#define FLOORS MIN((flA -> flA : N + 1), (flB -> flB : N + 1))

proctype guard() {
  byte m;
end:
  do
  :: d_step { tok_ && FLOORS > mark && !doneA -> mark = FLOORS; m = mark }
     d_step { markDur = MAX(markDur, m) }
#ifndef BUG_NO_RECHECK
     d_step { if :: tok_ && mark >= m :: else -> m = 0 fi }
#endif
     d_step {
       if
       :: m > logStart ->
          if
          :: !doneA -> assert((UPTO(m - 1) & ~settled) == 0);                    /* (f) the truth */
             if :: jok -> assert(m <= LOWEST(NEED)) :: else fi
          :: else
          fi;
          assert(!(bLive && m > 2));                                             /* (f) job B */
          logStart = m
       :: else
       fi;
       m = 0 }
  :: atomic { doneA -> break }
  od
}

proctype creator() {            /* reserve, look at the log, JobPinned, confirm; only then the job is accepted */
  atomic { if
  :: tok_ && mark <= 2 -> flB = 2
  :: tok_ && mark > 2 -> goto stop
  fi }
  atomic { if :: logStart > 2 -> goto stop :: else fi }
#ifdef BUG_ACCEPTED_AT_PIN
  d_step { bDur = 1; bLive = 1 }
#else
  d_step { bDur = 1 }
  atomic { if
  :: tok_ && flB -> bStays = 1; bLive = 1
  :: tok_ && !flB && mark <= 2 -> flB = 2; bStays = 1; bLive = 1
  :: tok_ && !flB && mark > 2 -> bGone = 1
  fi }
#endif
stop:
  skip
}
#endif

/* ============================== chaos ============================== */

proctype chaos() {
end:
  do
  :: d_step { losses > 0 && !doneA -> losses--; loseJ() }
#ifdef GUARD
  :: d_step { losses > 0 && tok_ && !doneA -> losses--; flA = 0; flB = 0; bStays = 0; mark = 0; tok_ = 0 }
  :: d_step { losses > 0 && !doneA -> losses--; loseJ(); flA = 0; flB = 0; bStays = 0; mark = 0; tok_ = 0 }
  :: d_step { flB && !bStays -> flB = 0 }                                        /* a reservation runs out */
#endif
  :: atomic { doneA -> break }
  od
}

init {
  d_step { lv[0] = 1; ckx[0] = 1 };                                              /* the first checkpoint is written with the pin */
  atomic {
    run worker(1);
#if WORKERS > 1
    run worker(2);
#endif
    run distributor(1);
#if TAKEOVERS > 0
    run successor();
#endif
    run chaos();
#ifdef GUARD
    run guard();
#ifndef NO_B
    run creator()
#endif
#endif
  }
}

#ifdef LIVE
ltl ends { <> doneA }                                                            /* (g) under weak fairness */
#endif
