import { loadAddon } from './addon.ts';
import { BatchedSocket } from './batched.ts';
import { DgramSocket } from './dgram.ts';
import type { LanePlan } from './orders.ts';
import type { DatagramListener, MediaSocket } from './udp.ts';

/** Binds the addon's socket, or node:dgram's where the addon cannot be loaded. Rejects when the port cannot be bound. */
export async function openSocket(plan: LanePlan, listener: DatagramListener): Promise<MediaSocket> {
  if (!plan.isNative) return DgramSocket.open(plan, listener, 'switched off');
  const found = loadAddon();
  if (found.addon === null) return DgramSocket.open(plan, listener, found.reason);
  return new BatchedSocket(found.addon, plan, listener);
}
