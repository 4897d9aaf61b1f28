  // Rows as round dots, those of groups past the eighth as squares.
  const point_size = { value: 1 };
  const near_size = { value: 0 };  // the distance at which dots have their size; 0: at any

  function automatic_point_size(count) {
    return Math.max(1.4, Math.min(7, 46 / Math.pow(Math.max(count, 1), 0.28)));
  }

  if (shown.points) {
    const packed = numbers_of(Uint16Array, shown.points.packed);
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(packed, 4, true));
    const material = make_material(
      `in vec4 position;
       uniform vec3 colours[8];
       uniform float size;
       uniform float pixels;
       uniform float near_size;
       out vec4 colour;
       flat out int square;
       void main() {
         place = (2.0 * position.xyz - 1.0) * half_box;
         int code = int(position.w * 65535.0 + 0.5);
         int group = code / 256;
         colour = vec4(colours[group % 8], float(code % 256) / 255.0);
         square = group / 8;
         vec4 seen = modelViewMatrix * vec4(place, 1.0);
         gl_Position = projectionMatrix * seen;
         gl_PointSize = max(1.0, size * pixels * (near_size > 0.0 ? near_size / -seen.z : 1.0));
       }`,
      `in vec4 colour;
       flat in int square;
       void main() {
         ${keep_to_section}
         vec2 away = 2.0 * gl_PointCoord - 1.0;
         if (square == 0 && dot(away, away) > 1.0) discard;
         pixel = colour;
       }`,
      {
        colours: { value: group_colours },
        size: point_size,
        pixels: pixels_a_point,
        near_size,
      },
      { transparent: true },
    );
    const points = new THREE.Points(geometry, material);
    add_part(points);
  }
