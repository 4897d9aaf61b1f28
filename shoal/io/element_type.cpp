#include <shoal/io/element_type.hpp>

#include <bit>
#include <cstring>
#include <type_traits>

namespace shoal {
namespace {

// Tags for element types that C++ has no portable type for.
struct boolean_byte {
  std::uint8_t byte;
  explicit operator float() const { return byte != 0 ? 1.0f : 0.0f; }
  explicit operator double() const { return byte != 0 ? 1.0 : 0.0; }
};

struct half {
  std::uint16_t bits;
  explicit operator float() const {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1Fu;
    const std::uint32_t fraction = bits & 0x3FFu;
    if (exponent == 0) {  // zero and subnormal: fraction · 2⁻²⁴, exact in binary32
      const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
      return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
    }
    const std::uint32_t widened = exponent == 31 ? 255u : exponent - 15 + 127;
    return std::bit_cast<float>(sign | widened << 23 | fraction << 13);
  }
  explicit operator double() const { return static_cast<float>(*this); }
};

// Calls visit(std::type_identity<Element>) for the C++ type that lies in the file.
template <class Visit>
auto with_element(element_type type, const Visit& visit) {
  switch (type) {
    case element_type::boolean:
      return visit(std::type_identity<boolean_byte>{});
    case element_type::int8:
      return visit(std::type_identity<std::int8_t>{});
    case element_type::int16:
      return visit(std::type_identity<std::int16_t>{});
    case element_type::int32:
      return visit(std::type_identity<std::int32_t>{});
    case element_type::int64:
      return visit(std::type_identity<std::int64_t>{});
    case element_type::uint8:
      return visit(std::type_identity<std::uint8_t>{});
    case element_type::uint16:
      return visit(std::type_identity<std::uint16_t>{});
    case element_type::uint32:
      return visit(std::type_identity<std::uint32_t>{});
    case element_type::uint64:
      return visit(std::type_identity<std::uint64_t>{});
    case element_type::float16:
      return visit(std::type_identity<half>{});
    case element_type::float32:
      return visit(std::type_identity<float>{});
    case element_type::float64:
      break;
  }
  return visit(std::type_identity<double>{});
}

// Files promise no alignment.
template <class Element>
Element load(const std::byte* from) {
  Element element;
  std::memcpy(&element, from, sizeof element);
  return element;
}

template <class Element, class Scalar>
void convert_run(const std::byte* from, std::size_t count, Scalar* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<Scalar>(load<Element>(from + i * sizeof(Element)));
}

}  // namespace

std::size_t element_size(element_type type) {
  return with_element(type, []<class Element>(std::type_identity<Element>) { return sizeof(Element); });
}

std::string_view element_name(element_type type) {
  constexpr std::string_view names[] = {"bool",   "int8",   "int16",  "int32",   "int64",   "uint8",
                                        "uint16", "uint32", "uint64", "float16", "float32", "float64"};
  return names[static_cast<std::size_t>(type)];
}

template <class Scalar>
void convert_records(element_type type, const record_batch& batch, const kept_elements& kept, Scalar* out,
                     std::size_t out_stride) {
  with_element(type, [&]<class Element>(std::type_identity<Element>) {
    const std::byte* from = batch.data + kept.first * sizeof(Element);
    if (!kept.chosen.empty()) {
      for (std::size_t i = 0; i < batch.records; ++i) {
        const std::byte* record = batch.data + i * batch.record_bytes;
        Scalar* row = out + i * out_stride;
        for (std::size_t j = 0; j < kept.chosen.size(); ++j) {
          row[j] = static_cast<Scalar>(load<Element>(record + kept.chosen[j] * sizeof(Element)));
        }
      }
    } else if (kept.count == 1) {
      for (std::size_t i = 0; i < batch.records; ++i) {
        out[i * out_stride] = static_cast<Scalar>(load<Element>(from + i * batch.record_bytes));
      }
    } else if (kept.count * sizeof(Element) == batch.record_bytes && out_stride == kept.count) {
      convert_run<Element>(from, batch.records * kept.count, out);
    } else {
      for (std::size_t i = 0; i < batch.records; ++i) {
        convert_run<Element>(from + i * batch.record_bytes, kept.count, out + i * out_stride);
      }
    }
  });
}

template void convert_records<float>(element_type, const record_batch&, const kept_elements&, float*, std::size_t);
template void convert_records<double>(element_type, const record_batch&, const kept_elements&, double*, std::size_t);

}  // namespace shoal
