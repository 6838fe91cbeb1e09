import { type AnyActorRef, createActor, setup } from 'xstate';

/**
 * The actor that all residents of an engine hang on: they share its XState system, where one of their own would cost
 * 1.8 of 4.1 KB each. It hears of every end and takes it calmly; who must act on one observes the actor itself.
 * It keeps no list of children, so spawning costs the same however many there are.
 */
const supervisorMachine = setup({}).createMachine({ id: 'supervisor', on: { '*': {} } });

export type Supervisor = AnyActorRef;

export function createSupervisor(): Supervisor {
  return createActor(supervisorMachine).start();
}
