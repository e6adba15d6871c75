/* Prints the layout of the header's structures, as abi/1.txt has it. */
#include <stackwright.h>
#include <stdio.h>

#define MEMBER(structure, member)                                          \
    printf(#structure "." #member " %zu %zu\n", offsetof(structure, member), \
           sizeof(((structure *)0)->member))

int main(void)
{
    printf("sw_options %zu\n", sizeof(sw_options));
    MEMBER(sw_options, flags);
    MEMBER(sw_options, arrivals);
    MEMBER(sw_options, credit);
    MEMBER(sw_options, spin_us);
    printf("sw_properties %zu\n", sizeof(sw_properties));
    MEMBER(sw_properties, has);
    MEMBER(sw_properties, number);
    MEMBER(sw_properties, lifetime_us);
    MEMBER(sw_properties, priority);
    printf("sw_path_report %zu\n", sizeof(sw_path_report));
    MEMBER(sw_path_report, longest);
    MEMBER(sw_path_report, window);
    MEMBER(sw_path_report, pace);
    MEMBER(sw_path_report, in_flight);
    MEMBER(sw_path_report, lost);
    MEMBER(sw_path_report, retransmitted);
    MEMBER(sw_path_report, timeouts);
    MEMBER(sw_path_report, round_trip_us);
    MEMBER(sw_path_report, variation_us);
    MEMBER(sw_path_report, least_us);
    return 0;
}
