/** Where something that floats goes: below what it belongs to, or above if there is no room. */

type Box = { left: number; top: number; right: number; bottom: number };
type Size = { width: number; height: number };
type Align = "start" | "center" | "end";

const EDGE = 8;

export function beside(
  anchor: Box,
  size: Size,
  gap: number,
  align: Align = "center",
  room: Size = { width: innerWidth, height: innerHeight },
): { left: number; top: number } {
  const below = anchor.bottom + gap;
  const above = anchor.top - gap - size.height;
  const fits = below + size.height <= room.height - EDGE || above < EDGE;
  const wanted = {
    start: anchor.left,
    center: middle(anchor, size),
    end: anchor.right - size.width,
  };
  return {
    left: within(wanted[align], room.width - size.width),
    top: within(fits ? below : above, room.height - size.height),
  };
}

function middle(anchor: Box, size: Size): number {
  return (anchor.left + anchor.right - size.width) / 2;
}

function within(wanted: number, most: number): number {
  return Math.max(EDGE, Math.min(wanted, most - EDGE));
}
