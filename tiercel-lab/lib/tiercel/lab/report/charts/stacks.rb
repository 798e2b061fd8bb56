# frozen_string_literal: true

module Tiercel
  module Lab
    module Report
      module Charts
        # Folded stacks as a tree, from which flame graphs are drawn.
        class Stacks
          # @!attribute weight [Numeric] samples of the frame and of its callees
          # @!attribute own [Numeric] samples of the frame itself
          Frame = Struct.new(:name, :weight, :own, :children)

          # @return [Frame] the parent of all outermost frames
          attr_reader :root

          # @param folded [Hash{String => Numeric}, String] number of samples by stack (frames joined with ";",
          #   outermost first), or lines of a stack and its number
          # @return [Stacks]
          # @raise [ArgumentError] for a line without a number
          def self.parse(folded)
            return new(folded) if folded.is_a?(Hash)
            new(folded.scrub.each_line(chomp: true).reject(&:empty?).each_with_object(Hash.new(0)) do |line, sums|
              stack, samples = line.match(/\A(.*\S)\s+(\d+(?:\.\d+)?)\z/)&.captures
              raise ArgumentError, "folded stack #{line.inspect}: expected FRAME;FRAME NUMBER" unless samples
              sums[stack] += samples.include?(".") ? samples.to_f : samples.to_i
            end)
          end

          # @param folded [Hash{String => Numeric}]
          def initialize(folded)
            @root = Frame.new("all", 0, 0, {})
            folded.each { |stack, samples| add(stack.scrub.split(";"), samples) }
          end

          # @return [Numeric] number of all samples
          def total = root.weight

          # @return [Hash{String => Numeric}] each function's own samples, from all its callers
          def own_by_name
            each_frame.with_object(Hash.new(0)) do |(frame, _), sums|
              sums[frame.name] += frame.own if frame.own.positive?
            end
          end

          # @yieldparam frame [Frame]
          # @yieldparam depth [Integer] 0 for the root
          # @return [Enumerator] without a block
          def each_frame(&block)
            return enum_for(:each_frame) unless block
            visit(root, 0, &block)
          end

          private

          def add(names, samples)
            frame = root
            frame.weight += samples
            names.each do |name|
              frame = frame.children[name] ||= Frame.new(name, 0, 0, {})
              frame.weight += samples
            end
            frame.own += samples
          end

          def visit(frame, depth, &block)
            yield(frame, depth)
            frame.children.each_value { |child| visit(child, depth + 1, &block) }
          end
        end
      end
    end
  end
end
