  controls.addEventListener("change", draw);
  fit_to_window();
  reset();
  refresh();
  new ResizeObserver(fit_to_window).observe(element("stage"));
  renderer.domElement.addEventListener("webglcontextlost", () =>
    show_still("The graphics card has gone away, so here is a picture; load the page again."),
  );

  // The picture as width × height × RGBA, for tests.
  function pixels(width, height) {
    render();
    const canvas = document.createElement("canvas");
    Object.assign(canvas, { width, height });
    const pen = canvas.getContext("2d", { willReadFrequently: true });
    pen.drawImage(renderer.domElement, 0, 0, width, height);
    return pen.getImageData(0, 0, width, height).data;
  }
  Object.assign(viewer, {
    press,
    pixels,
    state: () => ({ ...view, ...present_view(), order, moment, target: controls.target.toArray() }),
    ready: true,
  });
})().catch((fault) => {
  console.error(fault);
  window.shoal_viewer.show_still(`The page cannot be turned here (${fault.message}), so here is a picture.`);
});
