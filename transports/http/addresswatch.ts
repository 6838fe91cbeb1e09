import type { InvalidCalls } from '../../engine/ratelimit/invalid.ts';
import { networkOf } from '../../protocol/addresses.ts';

/** Limits addresses with many failed attempts: one shared count for the REST interface, the gateways and the pages. */
export interface AddressWatch {
  /** Milliseconds for which requests of the address are refused; 0 when it is not blocked. */
  blockedMs(address: string): number;
  /** Counts one failed attempt. */
  count(address: string): void;
}

/** @param nowMs Monotonic milliseconds. */
export function addressWatch(invalid: InvalidCalls, nowMs: () => number): AddressWatch {
  return {
    blockedMs: (address) => invalid.blockedMs(networkOf(address), nowMs()),
    count: (address) => invalid.count(networkOf(address), nowMs()),
  };
}
