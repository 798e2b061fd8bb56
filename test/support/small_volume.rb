# frozen_string_literal: true

require "tmpdir"

# A small or read-only file system, for tests of disk errors. Mounting needs root; {available?} returns whether it is
# allowed.
module SmallVolume
  class << self
    # @return [Boolean]
    def available?
      return @available if defined?(@available)
      @available = Process.uid.zero? && Dir.mktmpdir { |dir| mount(dir, "64k") && unmount(dir) }
    end

    # @param size [String] a size in the format of tmpfs ("2m")
    # @yieldparam directory [String]
    def open(size)
      Dir.mktmpdir("tiercel-volume-") do |directory|
        raise "cannot mount a tmpfs on #{directory}" unless mount(directory, size)
        begin
          yield directory
        ensure
          unmount(directory)
        end
      end
    end

    # @param directory [String] the directory from {open}
    def read_only(directory)
      system("mount", "-o", "remount,ro", directory, err: File::NULL) or raise "cannot remount #{directory}"
    end

    # @param directory [String] the directory from {open}
    # @param size [String] the new size
    def resize(directory, size)
      system("mount", "-o", "remount,size=#{size}", directory, err: File::NULL) or raise "cannot resize #{directory}"
    end

    private

    def mount(directory, size)
      system("mount", "-t", "tmpfs", "-o", "size=#{size}", "tiercel-test", directory, out: File::NULL, err: File::NULL)
    end

    def unmount(directory) = system("umount", "-l", directory, out: File::NULL, err: File::NULL)
  end
end
