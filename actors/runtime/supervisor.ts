import { type AnyActorRef, createActor, setup, stopChild } from 'xstate';

/**
 * The parent of all resident actors of an engine. They share its XState system; a system of its own would cost each 1.8
 * of 4.1 KB. The supervisor ignores the end of a child; observers subscribe to the actor itself. It keeps no list of
 * children, so spawning costs the same at any number of them.
 */
const supervisorMachine = setup({
  types: {} as { events: { readonly type: 'rest'; readonly actor: AnyActorRef } },
}).createMachine({
  id: 'supervisor',
  on: { rest: { actions: stopChild(({ event }) => event.actor) }, '*': {} },
});

export type Supervisor = AnyActorRef;

export function createSupervisor(): Supervisor {
  return createActor(supervisorMachine).start();
}
