  // The box with its ticks. Each axis is written along an edge that lies in front.
  const texts = [];

  function make_text(text, muted) {
    const scale = 2 * Math.max(1, Math.min(3, window.devicePixelRatio || 1));
    const font = `${13 * scale}px system-ui, "DejaVu Sans", sans-serif`;
    const canvas = document.createElement("canvas");
    const pen = canvas.getContext("2d");
    pen.font = font;
    canvas.width = Math.ceil(pen.measureText(text).width) + 4 * scale;
    canvas.height = 18 * scale;
    pen.font = font;
    pen.textBaseline = "middle";
    pen.fillStyle = styles.getPropertyValue(muted ? "--muted" : "--ink");
    pen.fillText(text, 2 * scale, canvas.height / 2);
    const texture = new THREE.CanvasTexture(canvas);
    texture.minFilter = THREE.LinearFilter;
    texture.generateMipmaps = false;
    const sprite = new THREE.Sprite(
      new THREE.SpriteMaterial({ map: texture, transparent: true, depthTest: false, sizeAttenuation: false }),
    );
    sprite.renderOrder = 10;
    texts.push({ sprite, width: canvas.width / scale, height: canvas.height / scale });
    stage.add(sprite);
    return sprite;
  }

  const axis_texts = [];
  if (!shown.sponge) {
    const [x, y, z] = half;
    const box = new THREE.LineSegments(
      new THREE.EdgesGeometry(new THREE.BoxGeometry(2 * x, 2 * y, Math.max(2 * z, 1e-6))),
      new THREE.LineBasicMaterial({ color: style_colour("--axis") }),
    );
    stage.add(box);
    shown.axes.forEach((axis, direction) => {
      if (!axis.label) return;
      for (const tick of axis.ticks) axis_texts.push({ direction, at: tick.at, sprite: make_text(tick.text, true), far: 1.09 });
      axis_texts.push({ direction, at: 0, sprite: make_text(axis.label, false), far: direction === 2 ? 1.26 : 1.34 });
    });
  }

  // Puts the texts of each axis along its edge of the box, for where the camera is.
  function place_texts(camera, pixels_high) {
    const side = [0, 1, 2].map((i) => (camera.position.getComponent(i) - controls.target.getComponent(i) >= 0 ? 1 : -1));
    const across = new THREE.Vector3(1, 0, 0).applyQuaternion(camera.quaternion);
    for (const { direction, at, sprite, far } of axis_texts) {
      const place = [0, 0, 0];
      place[direction] = at;
      if (direction === 2) {
        // To the left of the upright edge that stands leftmost.
        sprite.center.set(1, 0.5);
        let least = Infinity;
        for (const i of [-1, 1])
          for (const j of [-1, 1]) {
            const right = across.x * i * half[0] + across.y * j * half[1];
            if (right >= least - 1e-9) continue;
            least = right;
            place[0] = i * half[0] * far;
            place[1] = j * half[1] * far;
          }
      } else {
        const other = 1 - direction;
        place[other] = side[other] * half[other] + side[other] * (far - 1);
        place[2] = -half[2] - 0.35 * (far - 1);
      }
      sprite.position.set(...place);
    }
    const a_pixel = camera.isPerspectiveCamera
      ? (2 * Math.tan((camera.fov * Math.PI) / 360)) / pixels_high
      : (camera.top - camera.bottom) / camera.zoom / pixels_high;
    for (const { sprite, width, height } of texts) sprite.scale.set(width * a_pixel, height * a_pixel, 1);
  }
