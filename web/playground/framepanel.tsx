import { useState } from 'preact/hooks';
import { sizeText } from '../chat/attachments.tsx';
import { useStore } from '../store.ts';
import { type FrameFilter, isShown, nameOfFrame, type PassedFrame } from './frame.ts';
import type { FrameLog } from './frames.ts';

const SHOWN_MAX = 100;

/** The frames of the gateway as they pass. */
export function FramePanel({ log }: { readonly log: FrameLog }) {
  const { frames, isPaused } = useStore(log.store);
  const [filter, setFilter] = useState<FrameFilter>({ words: '', direction: 'both', heartbeats: false });
  const [open, setOpen] = useState<number | null>(null);
  const shown = frames.filter((one) => isShown(one, filter));
  const change = (more: Partial<FrameFilter>) => setFilter({ ...filter, ...more });
  return (
    <section class="frames" aria-label="Gateway frames">
      <div class="framebar">
        <h2>Gateway</h2>
        <input
          type="search"
          aria-label="Filter frames"
          placeholder="Filter, such as MESSAGE"
          value={filter.words}
          onInput={({ currentTarget }) => change({ words: currentTarget.value })}
        />
        <Direction filter={filter} change={change} />
        <label class="check">
          <input
            type="checkbox"
            checked={filter.heartbeats}
            onChange={({ currentTarget }) => change({ heartbeats: currentTarget.checked })}
          />
          Heartbeats
        </label>
        <button type="button" aria-pressed={isPaused} onClick={() => log.pause(!isPaused)}>
          {isPaused ? 'Go on' : 'Pause'}
        </button>
        <button type="button" onClick={() => log.clear()}>
          Clear
        </button>
        <span class="dim small count">
          {shown.length} of {frames.length}
        </span>
      </div>
      <ol class="framelist" aria-label="Frames">
        {shown
          .slice(-SHOWN_MAX)
          .reverse()
          .map((frame) => (
            <Row
              key={frame.number}
              frame={frame}
              isOpen={open === frame.number}
              toggle={() => setOpen(open === frame.number ? null : frame.number)}
            />
          ))}
      </ol>
    </section>
  );
}

function Direction({
  filter,
  change,
}: {
  readonly filter: FrameFilter;
  readonly change: (more: Partial<FrameFilter>) => void;
}) {
  return (
    <select
      aria-label="Direction"
      value={filter.direction}
      onChange={({ currentTarget: { value } }) =>
        change({ direction: value === 'sent' || value === 'received' ? value : 'both' })
      }
    >
      <option value="both">Both ways</option>
      <option value="received">Received</option>
      <option value="sent">Sent</option>
    </select>
  );
}

function Row({
  frame,
  isOpen,
  toggle,
}: {
  readonly frame: PassedFrame;
  readonly isOpen: boolean;
  readonly toggle: () => void;
}) {
  const { isSent, atMs, bytes, text } = frame;
  return (
    <li>
      <button type="button" class="frame" aria-expanded={isOpen} onClick={toggle}>
        <span class={isSent ? 'way sent' : 'way'}>{isSent ? 'sent' : 'recv'}</span>
        <span class="name">{nameOfFrame(frame)}</span>
        <span class="dim small">{new Date(atMs).toLocaleTimeString()}</span>
        <span class="dim small bytes">{sizeText(bytes)}</span>
      </button>
      {isOpen && (
        <textarea class="program" readOnly aria-label={`Frame ${frame.number}`} rows={10} value={text} />
      )}
    </li>
  );
}
