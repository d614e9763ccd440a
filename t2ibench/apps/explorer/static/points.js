// Points on a canvas: WebGL, or 2D where there is none. Coordinates are -1 to 1, the view is {x, y, zoom}.

const VERTEX = `
attribute vec2 place; attribute vec4 colour; attribute float size;
uniform vec2 middle; uniform vec2 scale; uniform float ratio;
varying vec4 tint;
void main() {
  gl_Position = vec4((place - middle) * scale, 0.0, 1.0);
  gl_PointSize = size * ratio;
  tint = colour;
}`;
const FRAGMENT = `
precision mediump float;
varying vec4 tint;
void main() {
  float far = length(gl_PointCoord - 0.5);
  if (far > 0.5) discard;
  float alpha = tint.a * (1.0 - smoothstep(0.42, 0.5, far));
  gl_FragColor = vec4(tint.rgb * alpha, alpha);
}`;

function program(gl) {
  const made = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(made, shader);
  }
  gl.linkProgram(made);
  return gl.getProgramParameter(made, gl.LINK_STATUS) ? made : null;
}

// How much can be drawn while the view moves, so that it moves at 60 frames a second.
export class Pace {
  constructor() { this.share = 1; this.last = 0; }

  frame(now) {
    const took = now - this.last;
    this.last = now;
    if (took > 200) return this.share; // the first frame of a movement
    if (took > 19) this.share = Math.max(0.05, this.share * 0.75);
    else this.share = Math.min(1, this.share * 1.03);
    return this.share;
  }
}

export class Points {
  constructor(canvas) {
    this.canvas = canvas;
    this.n = 0;
    this.gl = canvas.getContext("webgl", { antialias: false, premultipliedAlpha: true });
    this.made = this.gl && program(this.gl);
    if (!this.made) { this.gl = null; this.pen = canvas.getContext("2d"); return; }
    this.buffers = Object.fromEntries(["place", "colour", "size"].map((name) => [name, this.gl.createBuffer()]));
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => {
      this.made = program(this.gl);
      this.buffers = Object.fromEntries(["place", "colour", "size"].map((name) => [name, this.gl.createBuffer()]));
      this.send();
      this.draw(this.view);
    });
  }

  // place: Float32Array (2n), colour: Uint8Array (4n), size: Float32Array (n), in drawing order.
  set(data) {
    Object.assign(this, data, { n: data.size.length });
    this.send();
  }

  send() {
    if (!this.gl || !this.n) return;
    const { gl } = this;
    for (const [name, width, kind] of [["place", 2, gl.FLOAT], ["colour", 4, gl.UNSIGNED_BYTE], ["size", 1, gl.FLOAT]]) {
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
      gl.bufferData(gl.ARRAY_BUFFER, this[name], gl.STATIC_DRAW);
      const at = gl.getAttribLocation(this.made, name);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, width, kind, kind === gl.UNSIGNED_BYTE, 0, 0);
    }
  }

  // `share` of the points, the last ones: in shuffled order that is a fair sample while the view moves.
  draw(view, share = 1) {
    this.view = view;
    this.from = Math.floor(this.n * (1 - share));
    const { canvas } = this, ratio = window.devicePixelRatio || 1;
    const [wide, high] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
    if (!wide || !high) return;
    if (canvas.width !== wide || canvas.height !== high) { canvas.width = wide; canvas.height = high; }
    if (this.gl) this.drawGL(view, ratio); else this.draw2D(view, ratio);
  }

  drawGL(view, ratio) {
    const { gl } = this;
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (!this.n) return;
    gl.useProgram(this.made);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.uniform2f(gl.getUniformLocation(this.made, "middle"), view.x, view.y);
    gl.uniform2f(gl.getUniformLocation(this.made, "scale"), view.zoom, view.zoom);
    gl.uniform1f(gl.getUniformLocation(this.made, "ratio"), ratio * Math.min(3, Math.sqrt(view.zoom)));
    gl.drawArrays(gl.POINTS, this.from, this.n - this.from);
  }

  draw2D(view, ratio) {
    const { pen, canvas } = this, grow = ratio * Math.min(3, Math.sqrt(view.zoom));
    pen.clearRect(0, 0, canvas.width, canvas.height);
    for (let k = this.from; k < this.n; k += 1) {
      const x = (((this.place[2 * k] - view.x) * view.zoom + 1) / 2) * canvas.width;
      const y = ((1 - (this.place[2 * k + 1] - view.y) * view.zoom) / 2) * canvas.height;
      if (x < 0 || y < 0 || x > canvas.width || y > canvas.height) continue;
      const side = this.size[k] * grow, at = 4 * k;
      pen.fillStyle = `rgba(${this.colour[at]},${this.colour[at + 1]},${this.colour[at + 2]},${this.colour[at + 3] / 255})`;
      pen.fillRect(x - side / 2, y - side / 2, side, side);
    }
  }
}
