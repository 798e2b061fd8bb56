# frozen_string_literal: true

require "rbconfig"

# Forbids system calls to this process, like the seccomp profile of a container: from then on they fail with EPERM,
# here and in all children. See seccomp(2). A filter cannot be removed, so it is only for processes that exit
# afterwards.
module SeccompFilter
  NUMBERS = {
    "x86_64" => { prctl: 157, fallocate: 285, ftruncate: 77, fcntl: 72, mmap: 9, madvise: 28, statfs: 137, fstatfs: 138,
                  pread64: 17, pwrite64: 18, link: 86, linkat: 265, rename: 82, renameat: 264, flock: 73, chmod: 90,
                  fchmod: 91, utimensat: 280, unlink: 87 },
    "aarch64" => { prctl: 167, fallocate: 47, ftruncate: 46, fcntl: 25, mmap: 222, madvise: 233, statfs: 43,
                   fstatfs: 44, pread64: 67, pwrite64: 68, linkat: 37, renameat: 38, flock: 32, fchmod: 52,
                   utimensat: 88, unlinkat: 35 },
  }[RbConfig::CONFIG["host_cpu"]]

  # For calls that are only forbidden with some arguments (shared maps, locks): the argument and its values.
  ONLY = { mmap: [3, :any_bit, [1]], fcntl: [1, :equal, [6, 7, 37, 38]] }.freeze

  LOAD, JUMP, RETURN = 0x20, { equal: 0x15, any_bit: 0x45 }, 0x06
  ALLOW, FAIL = 0x7fff0000, 0x00050000
  ARGUMENTS_OFFSET = 16
  NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER_MODE = 38, 22, 2
  private_constant(*constants(false) - %i[NUMBERS])

  class << self
    # @return [Array<Symbol>] calls that can be forbidden here; empty if their numbers are unknown
    def names = RUBY_PLATFORM.include?("linux") ? (NUMBERS || {}).keys - %i[prctl] : []

    # @param name [Symbol] one of {names}
    # @param errno [Integer] the error of the forbidden call
    # @raise [SystemCallError] if the kernel has no filters
    def forbid(name, errno: Errno::EPERM::Errno)
      filter = [*instructions(name, errno), [RETURN, 0, 0, ALLOW]]
      bytes = filter.map { |one| one.pack("SCCL") }.join
      program = [filter.size, bytes].pack("Sx6P")
      prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
      prctl(SET_SECCOMP, FILTER_MODE, [program].pack("P").unpack1("J"), 0, 0)
      bytes.clear # keeps the buffer alive until here
    end

    private

    def instructions(name, errno)
      argument, jump, values = ONLY[name]
      fail = [RETURN, 0, 0, FAIL | errno]
      number = NUMBERS.fetch(name)
      return [[LOAD, 0, 0, 0], [JUMP[:equal], 0, 1, number], fail] unless argument
      values.flat_map do |value|
        [[LOAD, 0, 0, 0], [JUMP[:equal], 0, 3, number], [LOAD, 0, 0, ARGUMENTS_OFFSET + (8 * argument)],
         [JUMP[jump], 0, 1, value], fail]
      end
    end

    def prctl(*arguments)
      verbose, $VERBOSE = $VERBOSE, nil # Ruby suggests Fiddle instead, which not every Ruby includes
      syscall(NUMBERS.fetch(:prctl), *arguments)
    ensure
      $VERBOSE = verbose
    end
  end
end
