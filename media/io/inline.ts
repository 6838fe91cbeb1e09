import { Lane, type Loses } from './lane.ts';
import type { LaneListener, LanePlan, RunningLane } from './orders.ts';

/** Starts a lane in this thread: for servers with few calls, and for runs from source, which have no built worker. */
export async function startInline(
  plan: LanePlan,
  listener: LaneListener,
  loses: Loses | null = null,
): Promise<RunningLane> {
  const lane = await Lane.open(plan, listener, loses);
  let isOver = false;
  const stop = (): Promise<void> => {
    isOver = true;
    return lane.close();
  };
  return {
    port: lane.port,
    sender: lane.sender,
    order: (orders) => {
      if (!isOver) lane.order(orders);
    },
    packets: (batch) => {
      if (!isOver) lane.packets(batch);
      return !isOver;
    },
    ask: (question) => {
      if (!isOver) lane.ask(question);
    },
    kill: () => void stop().then(() => listener.died('killed')),
    stop,
  };
}
