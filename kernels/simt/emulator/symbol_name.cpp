// SPDX-License-Identifier: Apache-2.0
#include "kernels/simt/emulator/symbol_name.h"

#include <cxxabi.h>
#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <vector>

namespace trireme::simt::emulator {
namespace {

/// Where the program was loaded: symbols are relative to it.
std::uintptr_t load_address() {
  std::uintptr_t address = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t /*size*/, void* result) {
        *static_cast<std::uintptr_t*>(result) = info->dlpi_addr;
        return 1;  // the program itself comes first
      },
      &address);
  return address;
}

std::vector<char> program() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Mangled names of functions by address.
std::map<std::uintptr_t, std::string> functions() {
  std::map<std::uintptr_t, std::string> found;
  const std::vector<char> elf = program();
  if (elf.size() < sizeof(Elf64_Ehdr) || std::memcmp(elf.data(), ELFMAG, SELFMAG) != 0) return found;
  const auto& header = *reinterpret_cast<const Elf64_Ehdr*>(elf.data());
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(elf.data() + header.e_shoff);
  const std::uintptr_t base = load_address();
  for (int i = 0; i < header.e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const auto* symbols = reinterpret_cast<const Elf64_Sym*>(elf.data() + sections[i].sh_offset);
    const char* names = elf.data() + sections[sections[i].sh_link].sh_offset;
    for (std::size_t s = 0; s < sections[i].sh_size / sizeof(Elf64_Sym); ++s)
      if (ELF64_ST_TYPE(symbols[s].st_info) == STT_FUNC && symbols[s].st_value != 0)
        found.emplace(base + symbols[s].st_value, names + symbols[s].st_name);
  }
  return found;
}

/// "void f<int>(int)" becomes "f<int>": the last parenthesis that is opened outside of <> begins the
/// parameters.
std::string without_parameters(std::string name) {
  if (name.starts_with("void ")) name.erase(0, 5);
  int depth = 0;
  for (std::size_t i = name.size(); i-- > 0;) {
    if (name[i] == ')' || name[i] == '>') ++depth;
    if (name[i] == '(' || name[i] == '<') --depth;
    if (name[i] == '(' && depth == 0) return name.substr(0, i);
  }
  return name;
}

}  // namespace

std::string symbol_name(const void* function) {
  static const std::map<std::uintptr_t, std::string> known = functions();
  const auto found = known.find(reinterpret_cast<std::uintptr_t>(function));
  if (found == known.end()) return {};
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(found->second.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? without_parameters(demangled.get()) : found->second;
}

}  // namespace trireme::simt::emulator
