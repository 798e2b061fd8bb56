# frozen_string_literal: true

require_relative "../../codec"

# A file of the cache: a header, the key and the bytes. Little-endian:
#
#   0   4  magic "TCF1"
#   4   4  length of the key
#   8   8  expiry as epoch seconds (IEEE 754), 0.0 for none
#   16  8  token
#   24  8  length of the bytes
#   32     the key, then the bytes
#
# A file whose length differs from its header is truncated (by a crash of the machine, or by a full disk behind
# a network). Reads treat it as absent.
class Tiercel::Backends::File::Record <
      Struct.new(:key, :bytes, :expires_at, :token) # rubocop:disable Style/StructInheritance
  MAGIC = "TCF1"
  HEADER_BYTES = 32
  FORMAT = "a4VEQ<Q<"
  # Size of the first read. Most entries fit, so they need only one system call.
  FIRST_READ_BYTES = 32 * 1024
  READ = ::File::RDONLY | ::File::BINARY
  ATTEMPTS = 3

  def expired?(now) = expires_at && expires_at <= now

  class << self
    # @param path [String]
    # @param whole [Boolean] false to read only the header and the key
    # @return [Record, nil] nil if there is no file, or it is not a file of the cache
    # @raise [SystemCallError]
    def read(path, whole: true)
      start = Tiercel::CodecExt.read_small(path) # a small file in one call
      return parse_small(start, whole) if start
      start.nil? ? read_in_ruby(path, whole) : nil
    end

    # @return [String] the header and the key
    def head(key, bytes, expires_at, token)
      [MAGIC, key.bytesize, expires_at || 0.0, token, bytes.bytesize].pack(FORMAT) << key.b
    end

    private

    def parse_small(bytes, whole)
      magic, key_bytes, expires_at, token, length = bytes.unpack(FORMAT)
      return unless magic == MAGIC && length
      body_at = HEADER_BYTES + key_bytes
      return unless bytes.bytesize == body_at + length
      new(bytes.byteslice(HEADER_BYTES, key_bytes), (bytes.byteslice(body_at, length) if whole),
          (expires_at unless expires_at.zero?), token)
    end

    def read_in_ruby(path, whole)
      attempts = 0
      begin
        ::File.open(path, READ) { |file| parse(file, whole) }
      rescue Errno::ESTALE # another machine has replaced the open file on a network file system
        raise if (attempts += 1) >= ATTEMPTS
        retry
      end
    rescue Errno::ENOENT, Errno::EISDIR, EOFError
      nil
    end

    def parse(file, whole)
      start = file.sysread(FIRST_READ_BYTES)
      magic, key_bytes, expires_at, token, length = start.unpack(FORMAT)
      return unless magic == MAGIC && length
      body_at = HEADER_BYTES + key_bytes
      return unless complete?(file, start, body_at + length)
      key = part(file, start, HEADER_BYTES, key_bytes) or return
      bytes = part(file, start, body_at, length) or return if whole
      new(key, bytes, (expires_at unless expires_at.zero?), token)
    end

    # Reads the file's size only if the first read did not reach its end.
    def complete?(file, start, total)
      total == (start.bytesize < FIRST_READ_BYTES ? start.bytesize : file.size)
    end

    def part(file, start, offset, length)
      return start.byteslice(offset, length) if offset + length <= start.bytesize
      part = file.pread(length, offset)
      part if part.bytesize == length
    end
  end
end
