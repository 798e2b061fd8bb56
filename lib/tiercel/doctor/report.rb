# frozen_string_literal: true

require_relative "finding"

module Tiercel
  class Doctor
    # The findings of an examination as text, as data, and as an exit code for deploy scripts.
    class Report
      MARKS = { sound: "ok      ", finding: "FINDING ", unknown: "unknown " }.freeze

      # @return [Array<Finding>]
      attr_reader :findings

      # @param findings [Array<Finding>]
      def initialize(findings)
        @findings = findings
      end

      # @return [Boolean] whether there are no findings
      def sound? = findings.none?(&:finding?)

      # @return [Integer] 0 without findings, otherwise 1
      def exit_code = sound? ? 0 : 1

      # @return [Hash] the report in a form for JSON
      def to_h
        printed = findings.map { |finding| finding.to_h.transform_values { |value| printable(value) } }
        { sound: sound?, findings: printed }
      end

      # @return [String] the findings with their fixes first
      def to_text
        order = %i[finding unknown sound]
        lines = findings.sort_by.with_index { |one, at| [order.index(one.status), at] }.flat_map { |one| lines_of(one) }
        "#{[*lines, "", summary].join("\n")}\n"
      end

      private

      def lines_of(finding)
        lines = ["#{MARKS.fetch(finding.status)}#{finding.subject}, #{finding.check}: #{printable(finding.text)}"]
        lines << "         -> #{printable(finding.fix)}" if finding.fix
        lines
      end

      def summary
        counts = findings.group_by(&:status).transform_values(&:size)
        found, unknown = counts[:finding].to_i, counts[:unknown].to_i
        parts = [found.zero? ? "Nothing found" : counted(found, "finding")]
        parts << "#{counted(unknown, "check")} could not run" if unknown.positive?
        "#{parts.join(", ")}."
      end

      def counted(count, noun) = "#{count} #{noun}#{"s" unless count == 1}"

      # Keys may contain anything, including terminal escape sequences.
      def printable(value)
        return value unless value.is_a?(String)
        value.dup.force_encoding(Encoding::UTF_8).scrub("?").gsub(/[[:cntrl:]]/) { |char| char.inspect[1..-2] }
      end
    end
  end
end
