import { useEffect, useState } from 'preact/hooks';
import { GameControl, keptInvitation } from './gamecontrol.ts';
import type { Session } from './session.ts';
import { useStore } from './store.ts';

/** Shows the person that games of this machine act on this page, and ends it. */
export function GameControlCard({ session }: { session: Session }) {
  const [helper, setHelper] = useState<GameControl | null>(null);
  useEffect(() => {
    const invitation = keptInvitation();
    if (invitation === null) return;
    const begun = new GameControl(session, invitation);
    setHelper(begun);
    return () => begun.close();
  }, [session]);
  return helper === null ? null : <Linked helper={helper} forget={() => setHelper(null)} />;
}

function Linked({ helper, forget }: { helper: GameControl; forget: () => void }) {
  const { phase, reason } = useStore(helper.store);
  const end = (): void => {
    helper.forget();
    forget();
  };
  return (
    <section class="card" aria-label="Games of this machine" data-helper={phase}>
      <p>
        {phase === 'ended'
          ? `Games of this machine no longer act on this page: ${reason}`
          : 'Games of this machine act on this page: they choose channels and change voice settings.'}
      </p>
      <button type="button" class="quiet" onClick={end}>
        {phase === 'ended' ? 'Close' : 'End this'}
      </button>
    </section>
  );
}
