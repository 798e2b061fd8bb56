# frozen_string_literal: true

# Measures the gain of our own code compared with the library (adr/021).
module OwnCode
  ROUNDS = 9
  # CPU time of each side in one round.
  SECONDS = 0.02

  # A comparison: our code, and the name and code of the other side.
  Pair = Struct.new(:what, :ours, :other_name, :other)

  class << self
    # @return [Array<Pair>]
    def pairs = checksums + compressors

    # @yieldparam pair [Pair]
    # @yieldparam ns [Array(Float, Float)] CPU time per call of our code and of the other side: the minimum of all
    #   rounds
    def measure
      pairs.each do |pair|
        arms = [pair.ours, pair.other]
        counts = arms.map { |arm| calibrate(arm) }
        rounds = Array.new(ROUNDS) { arms.zip(counts).map { |arm, count| cpu_ns(arm, count) / count } }
        yield pair, rounds.transpose.map(&:min)
      end
    end

    private

    def checksums
      [1_000, 20_000].map do |bytes|
        data = Random.new(1).bytes(bytes)
        Pair.new("CRC-32 of #{bytes} B", -> { Tiercel::CodecExt.crc32(data) }, "Zlib", -> { Zlib.crc32(data) })
      end
    end

    def compressors
      require "tiercel"
      require "lz4_flex"
      own = Tiercel::CodecExt
      { "24 KB" => 400, "822 KB" => 14_000 }.flat_map do |size, rows|
        text = Array.new(rows) { |i| "<li class=\"row\"><a href=\"/items/#{i * 7_919}\">Item #{i}</a></li>\n" }.join
        block = own.lz4_deflate(text)
        from = [text.bytesize].pack("w").bytesize
        [Pair.new("LZ4, deflate #{size}", -> { own.lz4_deflate(text) }, "lz4_flex",
                  -> { Lz4Flex::VarInt.compress(text) }),
         Pair.new("LZ4, inflate #{size}", -> { own.lz4_inflate(block, from, text.bytesize) }, "lz4_flex, unchecked",
                  -> { Lz4Flex::VarInt.decompress(block) })]
      end
    end

    def calibrate(arm)
      count = 1
      count *= 2 while cpu_ns(arm, count) < SECONDS * 1e9
      count
    end

    def cpu_ns(arm, count)
      began = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond)
      count.times { arm.call }
      (Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond) - began).to_f
    end
  end
end

desc "Measure what our own LZ4 and CRC-32 gain over a library (adr/021)"
task :own_code do
  $LOAD_PATH.unshift(File.expand_path("lib"))
  require "tiercel"
  puts "| | ours, ns | other, ns | | ours / other |", "| --- | ---: | ---: | --- | ---: |"
  OwnCode.measure do |pair, (ours, other)|
    puts format("| %s | %.0f | %.0f | %s | %.2f |", pair.what, ours, other, pair.other_name, ours / other)
  end
end
