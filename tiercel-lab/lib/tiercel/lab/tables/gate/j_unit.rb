# frozen_string_literal: true

require "cgi/escape"

module Tiercel
  module Lab
    module Tables
      module Gate
        # Writes verdicts as test cases in JUnit's XML format (the schema of Apache Ant's junit task).
        class JUnit
          # https://www.w3.org/TR/xml/#charsets
          NOT_XML = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/
          FAILURES = { Judgement::REGRESSED => "failure", Judgement::WRONG => "error",
                       Judgement::CANNOT_TELL => "skipped" }.freeze

          # @param rows [Array<Hash{String => Object}>] with "words"
          # @param sentence [String]
          def initialize(rows, sentence:)
            @rows = rows
            @sentence = sentence
          end

          # @return [String] XML
          def to_s
            counts = FAILURES.to_h { |verdict, kind| [kind, @rows.count { |row| row["verdict"] == verdict }] }
            <<~XML
              <?xml version="1.0" encoding="UTF-8"?>
              <testsuite name="tiercel-lab gate" tests="#{@rows.size}" failures="#{counts["failure"]}" \
              errors="#{counts["error"]}" skipped="#{counts["skipped"]}">
              #{@rows.map { |row| test_case(row) }.join("\n")}
                <system-out>#{escape(@sentence)}</system-out>
              </testsuite>
            XML
          end

          private

          def test_case(row)
            kind = FAILURES[row["verdict"]]
            inside = kind ? "<#{kind} message=\"#{escape(row["words"])}\"/>" : ""
            "  <testcase classname=\"#{escape(row["cell"])}\" name=\"#{escape(row["metric"])}\">#{inside}</testcase>"
          end

          # Replaces characters that XML does not allow.
          def escape(text) = CGI.escapeHTML(text.to_s.scrub.gsub(NOT_XML, " "))
        end
      end
    end
  end
end
