# frozen_string_literal: true

require "active_support"
require "active_support/core_ext/string/output_safety"

# A bar chart over time as SVG, with the same values as a table.
#
# @private
class Tiercel::Insight::Web::Chart
  # One series: a name for the reader, a CSS class, and a value for each time.
  Series = Struct.new(:name, :css, :values)

  WIDTH, HEIGHT = 440, 168
  LEFT, RIGHT, TOP, BOTTOM = 48, 6, 10, 22
  STEPS = [1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10].freeze
  ROOM_X, ROOM_Y = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

  # The title, the anchor in the page, the {Series}, and the latest value, shown in large type.
  attr_reader :title, :id, :series, :headline

  # @param id [String]
  # @param title [String]
  # @param times [Array<Time>] start times of the steps
  # @param series [Array<Series>] stacked if there are several
  # @param format [Symbol] a method of {Text} for the values
  # @param headline [String]
  def initialize(id:, title:, times:, series:, headline:, format: :compact)
    @id, @title, @times, @series, @headline = id, title, times, series, headline
    @format = format
    @top = nice(sums.max || 0)
  end

  # @return [Array<Array<String>>] time and values, the latest first
  def rows = @times.each_index.map { |at| [clock(at), *series.map { |one| value(one.values[at]) }] }.reverse

  # @return [ActiveSupport::SafeBuffer]
  def svg
    body = [grid, bars, labels].join
    %(<svg viewBox="0 0 #{WIDTH} #{HEIGHT}" role="img" aria-labelledby="#{id}-title">#{body}</svg>).html_safe
  end

  private

  def sums = @sums ||= @times.each_index.map { |at| series.sum { |one| one.values[at] } }

  # The next round number whose half is round too: a power of ten times one of {STEPS}; for durations a number of
  # minutes or hours.
  def nice(value)
    return 1.0 unless value.positive?
    unit = { seconds: [3_600, 60].find { |seconds| value >= seconds } }.fetch(@format, nil) || 1
    power = 10.0**Math.log10(value.fdiv(unit)).floor
    STEPS.map { |step| step * power * unit }.find { |step| step >= value * 0.999 }
  end

  def step = ROOM_X / @times.size.to_f
  def x(at) = LEFT + (at * step)
  def y(value) = TOP + ROOM_Y - (value / @top.to_f * ROOM_Y)
  def n(number) = format("%.1f", number).delete_suffix(".0")

  def grid
    (sums.any?(&:positive?) ? [0, 0.5, 1] : [0]).map do |part|
      height = y(@top * part)
      %(<line class="grid" x1="#{LEFT}" x2="#{WIDTH - RIGHT}" y1="#{n(height)}" y2="#{n(height)}"/>) +
        %(<text class="axis" x="#{LEFT - 6}" y="#{n(height + 3.5)}" text-anchor="end">#{value(@top * part)}</text>)
    end.join
  end

  def bars
    width = [step - (step > 5 ? 1.5 : 0.8), 0.8].max
    @times.each_index.map do |at|
      bottom = 0
      stack = series.filter_map do |one|
        amount = one.values[at]
        bottom += amount
        next unless amount.positive?
        %(<rect class="#{one.css}" x="#{n(x(at))}" width="#{n(width)}" y="#{n(y(bottom))}" ) +
          %(height="#{n(y(bottom - amount) - y(bottom))}"/>)
      end
      "<g>#{tip(at)}#{stack.join}#{hover(at)}</g>"
    end.join
  end

  def tip(at)
    figures = series.map { |one| "#{value(one.values[at])} #{one.name}" }.join(", ")
    "<title>#{ERB::Util.html_escape("#{clock(at)}  #{figures}")}</title>"
  end

  def hover(at) = %(<rect class="hover" x="#{n(x(at))}" y="#{TOP}" width="#{n(step)}" height="#{ROOM_Y}"/>)

  # The labels of the axis: four times, of which the last one is now.
  def labels
    last = @times.size - 1
    (0..3).map { |part| last * part / 3 }.uniq.map do |at|
      anchor = { 0 => "start", last => "end" }.fetch(at, "middle")
      place = { "start" => x(at), "end" => WIDTH - RIGHT, "middle" => x(at) + (step / 2) }[anchor]
      %(<text class="axis" x="#{n(place)}" y="#{HEIGHT - 6}" text-anchor="#{anchor}">#{clock(at)}</text>)
    end.join
  end

  def clock(at) = @times[at].strftime("%H:%M")

  def value(number) = Tiercel::Insight::Text.public_send(@format, number)
end
